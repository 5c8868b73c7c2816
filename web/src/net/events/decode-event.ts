/**
 * From text to events.
 *
 * Only the envelope is checked, because that is what we rely on for every
 * event; a kind we do not know is an event all the same.
 */
import type { Event } from '../../proto/index.ts'

/** Reads one event, or says that the text is none. */
export function decodeEvent(text: string): Event {
  const value = parsed(text)
  if (!isEvent(value)) throw new Error('it sent something that is not an event')
  return value
}

function parsed(text: string): unknown {
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
    Number.isSafeInteger(seq) &&
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
