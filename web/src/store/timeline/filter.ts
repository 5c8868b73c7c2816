/** The filter of the timeline. Pure; evaluated for each event. */
import type { Event, ProjectId } from '../../proto/index.ts'

/** Which part of the log is shown. `none` is a project that the log does not know. */
export type EventScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly id: ProjectId }
  | { readonly kind: 'none' }

/** The choice in the filter bar. An empty list matches any value. */
export type EventFilter = {
  readonly kinds: readonly string[]
  readonly actors: readonly string[]
  readonly text: string
}

/** Matches every event. */
export const NO_FILTER: EventFilter = { kinds: [], actors: [], text: '' }

/** Whether the filter matches every event. */
export function isEmptyFilter(filter: EventFilter): boolean {
  return filter.kinds.length === 0 && filter.actors.length === 0 && filter.text.trim() === ''
}

/** Whether the event belongs to the scope. */
export function isInScope(scope: EventScope, event: Event): boolean {
  if (scope.kind === 'all') return true
  if (scope.kind === 'none') return false
  if (event.stream === `project/${scope.id}`) return true
  return event.stream === 'sys' && (event.body as Record<string, unknown>)['project'] === scope.id
}

/** Compiles a filter, so that it can be evaluated 100 000 times cheaply. */
export function compileFilter(filter: EventFilter): (event: Event) => boolean {
  const kinds = new Set(filter.kinds)
  const actors = new Set(filter.actors)
  const words = filter.text.split(/\s+/).filter((word) => word !== '').map(compileWord)
  return (event) =>
    (kinds.size === 0 || kinds.has(event.kind)) &&
    (actors.size === 0 || actors.has(event.actor)) &&
    words.every((word) => word(event))
}

/** A word matches in any text of the event; `#12` matches the event with that seq. */
function compileWord(word: string): (event: Event) => boolean {
  // A regular expression compares without a lower-case copy of each text.
  const pattern = new RegExp(word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i')
  const seq = /^#\d+$/.test(word) ? Number(word.slice(1)) : null
  return (event) =>
    event.seq === seq ||
    pattern.test(event.kind) ||
    pattern.test(event.actor) ||
    pattern.test(event.principal) ||
    pattern.test(event.stream) ||
    pattern.test(event.id) ||
    (event.command !== null && pattern.test(event.command)) ||
    containsMatch(event.body, pattern)
}

function containsMatch(value: unknown, pattern: RegExp): boolean {
  if (typeof value === 'string') return pattern.test(value)
  if (typeof value === 'number') return pattern.test(String(value))
  if (typeof value !== 'object' || value === null) return false
  for (const key in value) if (containsMatch((value as Record<string, unknown>)[key], pattern)) return true
  return false
}
