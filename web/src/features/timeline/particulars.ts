/** An event as labelled lines, nothing left out. */
import type { Event } from '../../proto/index.ts'

/** A name and its value as text; `many` values have lines of their own. */
export type Line = { readonly name: string; readonly value: string; readonly many: boolean }

/** The particulars of the fact. */
export function bodyLines(event: Event): readonly Line[] {
  return Object.entries(event.body).map(([name, value]) => line(name, value))
}

/** The envelope, in the order in which people ask for it. */
export function envelopeLines(event: Event): readonly Line[] {
  const { stream, version, principal, actor, command, cause, id, prev, hash } = event
  return Object.entries({ actor, principal, stream, version, command, cause, id, hash, prev })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => line(name, value))
}

function line(name: string, value: unknown): Line {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return { name, value: text, many: typeof value === 'object' && value !== null }
}
