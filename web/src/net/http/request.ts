/** Requests to the daemon. Each has a timeout, and each outcome has a kind of its own. */
import type { ErrorResponse } from '../../proto/index.ts'
import { pageTokenHeaders } from './page-token.ts'

/** The outcome of a request. */
export type ApiResult<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly value: T }
  | { readonly kind: 'refused'; readonly problem: ErrorResponse }
  | { readonly kind: 'loggedOut' }
  | { readonly kind: 'unreachable'; readonly reason: string }

/** A request to the daemon's HTTP API. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** The idempotency key. Events that result from the request carry it as `command`. */
  readonly command?: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 15_000

/** Sends a request; never throws. */
export async function sendRequest<T>(request: ApiRequest, send: typeof fetch = fetch): Promise<ApiResult<T>> {
  const headers = new Headers({ accept: 'application/json', ...pageTokenHeaders() })
  if (request.body !== undefined) headers.set('content-type', 'application/json')
  if (request.command !== undefined) headers.set('idempotency-key', request.command)
  try {
    const response = await send(request.path, {
      method: request.method,
      headers,
      body: request.body === undefined ? null : JSON.stringify(request.body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(request.timeoutMs ?? TIMEOUT_MS),
    })
    if (response.status === 401) return { kind: 'loggedOut' }
    const value: unknown = await response.json()
    if (response.ok) return { kind: 'ok', status: response.status, value: value as T }
    if (isErrorResponse(value)) return { kind: 'refused', problem: value }
    return { kind: 'unreachable', reason: `the server responded with status ${String(response.status)} and no error message` }
  } catch (error) {
    return { kind: 'unreachable', reason: describeFailure(error) }
  }
}

/** `fetch` with the page's half of the login. */
export function fetchWithLogin(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(pageTokenHeaders())) headers.set(name, value)
  return fetch(path, { ...init, headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error' })
}

/** Creates an idempotency key. Also works on plain http, where `randomUUID` is missing. */
export function newCommandId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Why a request got no response, for display. */
export function describeFailure(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'the request timed out'
  if (error instanceof TypeError) return 'the connection failed'
  return error instanceof Error ? error.message : 'the connection was lost'
}

/** Whether a value is the body of an error response. */
export function isErrorResponse(value: unknown): value is ErrorResponse {
  if (typeof value !== 'object' || value === null) return false
  const { error, code } = value as Record<string, unknown>
  return typeof error === 'string' && typeof code === 'string'
}
