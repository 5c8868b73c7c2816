/** Requests to the daemon, each with an end and an answer that can be told apart. */
import type { ErrorResponse } from '../../proto/index.ts'
import { pageHeaders } from './page-token.ts'

/** What came of a request. */
export type Answer<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly value: T }
  | { readonly kind: 'refused'; readonly problem: ErrorResponse }
  | { readonly kind: 'loggedOut' }
  | { readonly kind: 'unreachable'; readonly reason: string }

/** What to ask. */
export type Ask = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** The idempotency key; the events that follow carry it as `command`. */
  readonly command?: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 15_000

/** Asks the daemon; never throws. */
export async function ask<T>(what: Ask, send: typeof fetch = fetch): Promise<Answer<T>> {
  const headers = new Headers({ accept: 'application/json', ...pageHeaders() })
  if (what.body !== undefined) headers.set('content-type', 'application/json')
  if (what.command !== undefined) headers.set('idempotency-key', what.command)
  try {
    const response = await send(what.path, {
      method: what.method,
      headers,
      body: what.body === undefined ? null : JSON.stringify(what.body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(what.timeoutMs ?? TIMEOUT_MS),
    })
    if (response.status === 401) return { kind: 'loggedOut' }
    const value: unknown = await response.json()
    if (response.ok) return { kind: 'ok', status: response.status, value: value as T }
    if (isProblem(value)) return { kind: 'refused', problem: value }
    return { kind: 'unreachable', reason: `it answered ${String(response.status)} without a reason` }
  } catch (error) {
    return { kind: 'unreachable', reason: whyNot(error) }
  }
}

/** A fresh idempotency key. Works on plain http too, where `randomUUID` is missing. */
export function commandId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Why a request had no answer, for a person. */
export function whyNot(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'it did not answer in time'
  if (error instanceof TypeError) return 'nothing answers at its address'
  return error instanceof Error ? error.message : 'the connection broke'
}

function isProblem(value: unknown): value is ErrorResponse {
  if (typeof value !== 'object' || value === null) return false
  const { error, code } = value as Record<string, unknown>
  return typeof error === 'string' && typeof code === 'string'
}
