/**
 * Decodes events from JSON.
 *
 * Only the envelope is validated, because every consumer relies on it. Events of
 * an unknown kind are valid.
 */
import type { Event } from '../../proto/index.ts'

/** Decodes one event; throws if the text is not one. */
export function decodeEvent(text: string): Event {
  const value = parseJson(text)
  if (!isEvent(value)) throw new Error('received an invalid event')
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false
  const { seq, stream, kind, at, actor, hash } = value as Record<string, unknown>
  return (
    (typeof seq === 'number' || typeof seq === 'string') &&
    typeof stream === 'string' &&
    typeof kind === 'string' &&
    typeof at === 'number' &&
    typeof actor === 'string' &&
    typeof hash === 'string' &&
    isObject((value as Record<string, unknown>)['body'])
  )
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
