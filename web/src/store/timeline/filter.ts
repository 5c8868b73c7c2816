/** Which events a person wants to see. Pure; the timeline asks it for each event. */
import type { Event, ProjectId } from '../../proto/index.ts'

/** Whose events. `none` is a project that the log does not know. */
export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly id: ProjectId }
  | { readonly kind: 'none' }

/** What was chosen in the filter bar. An empty list means: any. */
export type Filter = {
  readonly kinds: readonly string[]
  readonly actors: readonly string[]
  readonly text: string
}

/** No restriction. */
export const NO_FILTER: Filter = { kinds: [], actors: [], text: '' }

/** Whether the filter lets everything through. */
export function isEmpty(filter: Filter): boolean {
  return filter.kinds.length === 0 && filter.actors.length === 0 && filter.text.trim() === ''
}

/** Whether two filters are the same choice. */
export function sameFilter(a: Filter, b: Filter): boolean {
  return (
    a.text === b.text &&
    a.kinds.join('\n') === b.kinds.join('\n') &&
    a.actors.join('\n') === b.actors.join('\n')
  )
}

/** Whether the event belongs to the scope. */
export function inScope(scope: Scope, event: Event): boolean {
  if (scope.kind === 'all') return true
  if (scope.kind === 'none') return false
  if (event.stream === `project/${scope.id}`) return true
  return event.stream === 'sys' && (event.body as Record<string, unknown>)['project'] === scope.id
}

/** Makes the test for a filter once, so that asking it 100 000 times is cheap. */
export function matcher(filter: Filter): (event: Event) => boolean {
  const kinds = new Set(filter.kinds)
  const actors = new Set(filter.actors)
  const words = filter.text.split(/\s+/).filter((word) => word !== '').map(wordTest)
  return (event) =>
    (kinds.size === 0 || kinds.has(event.kind)) &&
    (actors.size === 0 || actors.has(event.actor)) &&
    words.every((word) => word(event))
}

/** A word is looked for in every text of the event; `#12` is the event with that place. */
function wordTest(word: string): (event: Event) => boolean {
  // An expression compares without making a lower-case copy of each text.
  const found = new RegExp(word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i')
  const seq = /^#\d+$/.test(word) ? Number(word.slice(1)) : null
  return (event) =>
    event.seq === seq ||
    found.test(event.kind) ||
    found.test(event.actor) ||
    found.test(event.principal) ||
    found.test(event.stream) ||
    found.test(event.id) ||
    (event.command !== null && found.test(event.command)) ||
    holds(event.body, found)
}

function holds(value: unknown, found: RegExp): boolean {
  if (typeof value === 'string') return found.test(value)
  if (typeof value === 'number') return found.test(String(value))
  if (typeof value !== 'object' || value === null) return false
  for (const key in value) if (holds((value as Record<string, unknown>)[key], found)) return true
  return false
}
