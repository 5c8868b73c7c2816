/** The fields of an event, complete. */
import type { Event } from '../../proto/index.ts'

/** A name and its value as text. */
export type EventField = { readonly name: string; readonly value: string; readonly multiline: boolean }

/** The fields of the body. */
export function bodyFields(event: Event): readonly EventField[] {
  return Object.entries(event.body).map(([name, value]) => toField(name, value))
}

/** The fields of the envelope, the most useful first. */
export function envelopeFields(event: Event): readonly EventField[] {
  const { stream, version, principal, actor, command, cause, id, prev, hash } = event
  return Object.entries({ actor, principal, stream, version, command, cause, id, hash, prev })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => toField(name, value))
}

function toField(name: string, value: unknown): EventField {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return { name, value: text, multiline: typeof value === 'object' && value !== null }
}
