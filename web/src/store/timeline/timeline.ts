/**
 * The events in memory, and those of them that the timeline shows.
 *
 * Both lists grow at the end and are trimmed at the start; the cost of a new event does
 * not depend on how many there are. Not reactive: its owner publishes `rows()` after
 * each batch.
 */
import type { Event } from '../../proto/index.ts'
import { compileFilter, isInScope, NO_FILTER, type EventFilter, type EventScope } from './filter.ts'

/** How many events are kept in memory. Older ones are only in the daemon's log. */
export const MAX_EVENTS = 100_000

/** The values of a facet, each with its number of events in the scope. */
export type FacetCounts = ReadonlyMap<string, number>

/** The rows of the timeline: a new value for each change, over shared lists. */
export type TimelineRows = {
  readonly length: number
  readonly at: (index: number) => Event | undefined
  /** How many rows were removed at the start since the selection was made. */
  readonly dropped: number
  /** How many events in memory are in the scope, before the filter. */
  readonly scoped: number
  /** How many events of the whole log are no longer in memory. */
  readonly evicted: number
  readonly kinds: FacetCounts
  readonly actors: FacetCounts
}

/** See the head of this file. */
export class Timeline {
  readonly #limit: number
  #events: Event[] = []
  #evicted = 0
  #scope: EventScope = { kind: 'all' }
  #matches = compileFilter(NO_FILTER)
  #shown: Event[] = []
  #dropped = 0
  #scoped = 0
  #kinds = new Map<string, number>()
  #actors = new Map<string, number>()

  constructor(limit: number = MAX_EVENTS) {
    this.#limit = limit
  }

  /** Adds the next events and evicts the oldest above the limit. */
  append(events: readonly Event[]): void {
    for (const event of events) {
      this.#events.push(event)
      this.#addRow(event)
    }
    const excess = this.#events.length - this.#limit
    if (excess > 0) this.#evict(excess)
  }

  /** Removes all events; the selection stays. */
  clear(): void {
    this.#events = []
    this.#evicted = 0
    this.#rebuild()
  }

  /** Selects which events are shown. */
  select(scope: EventScope, filter: EventFilter): void {
    this.#scope = scope
    this.#matches = compileFilter(filter)
    this.#rebuild()
  }

  /** The event with this seq, if it is in memory. */
  find(seq: number): Event | undefined {
    return this.#events[lowerBound(this.#events, seq)]?.seq === seq
      ? this.#events[lowerBound(this.#events, seq)]
      : undefined
  }

  /** The current rows. */
  rows(): TimelineRows {
    const shown = this.#shown
    return {
      length: shown.length,
      at: (index) => shown[index],
      dropped: this.#dropped,
      scoped: this.#scoped,
      evicted: this.#evicted,
      kinds: new Map(this.#kinds),
      actors: new Map(this.#actors),
    }
  }

  #rebuild(): void {
    this.#shown = []
    this.#dropped = 0
    this.#scoped = 0
    this.#kinds = new Map()
    this.#actors = new Map()
    for (const event of this.#events) this.#addRow(event)
  }

  #addRow(event: Event): void {
    if (!isInScope(this.#scope, event)) return
    this.#count(event, 1)
    if (this.#matches(event)) this.#shown.push(event)
  }

  #evict(count: number): void {
    const gone = this.#events.splice(0, count)
    this.#evicted += count
    for (const event of gone) if (isInScope(this.#scope, event)) this.#count(event, -1)
    const first = this.#events[0]?.seq ?? Infinity
    const rows = lowerBound(this.#shown, first)
    if (rows > 0) this.#shown.splice(0, rows)
    this.#dropped += rows
  }

  #count(event: Event, by: 1 | -1): void {
    this.#scoped += by
    for (const [facet, key] of [[this.#kinds, event.kind], [this.#actors, event.actor]] as const) {
      const count = (facet.get(key) ?? 0) + by
      if (count === 0) facet.delete(key)
      else facet.set(key, count)
    }
  }
}

/** The first index whose event has this seq or a later one; events are in order. */
export function lowerBound(events: { readonly length: number; readonly [i: number]: Event | undefined }, seq: number): number {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((events[middle]?.seq ?? Infinity) < seq) low = middle + 1
    else high = middle
  }
  return low
}
