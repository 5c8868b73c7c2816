/** The filter of the timeline, and the query for it. Pure. */
import type { ProjectId } from '../../proto/index.ts'

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

/** The query of `/api/events` for a scope and a filter: the daemon evaluates both. */
export function eventQuery(scope: EventScope, filter: EventFilter): URLSearchParams {
  const query = new URLSearchParams()
  if (filter.kinds.length > 0) query.set('kind', filter.kinds.join(','))
  if (filter.actors.length > 0) query.set('actor', filter.actors.join(','))
  const text = requestedNumber(filter) === null ? filter.text.trim() : ''
  if (text !== '') query.set('text', text)
  if (scope.kind === 'project') query.set('project', scope.id)
  // A row shows a line of its event; large bodies are read with its details.
  query.set('bodies', 'short')
  return query
}

/** The number of the one event that the text `#12` selects, or null. */
export function requestedNumber({ text }: EventFilter): string | null {
  return /^#0*(\d+)$/.exec(text.trim())?.[1] ?? null
}
