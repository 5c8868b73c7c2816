/**
 * A bounded part of the log, in order, that moves: it grows at one end and is trimmed at
 * the other. Not reactive: its owner publishes `rows()` after each change.
 */
import type { Event } from '../../proto/index.ts'

/** The most events in memory. */
export const MAX_ROWS = 2_000

/** Where the log goes on beyond the window: the cursors of the next pages, or null at an end of the log. */
export type WindowEdges = { readonly earlier: number | null; readonly later: number | null }

/** The rows of the timeline: a new value for each change. */
export type TimelineRows = {
  readonly length: number
  readonly at: (index: number) => Event | undefined
  /** The position of the first row; it changes by as many rows as are added or removed before it. */
  readonly offset: number
  /** Whether the log may have matching events before the first row. */
  readonly hasEarlier: boolean
  /** Whether the log may have matching events after the last row that are not followed. */
  readonly hasLater: boolean
}

/** See the head of this file. */
export class EventWindow {
  readonly #limit: number
  #events: readonly Event[] = []
  #offset = 0
  #edges: WindowEdges = { earlier: null, later: null }

  constructor(limit: number = MAX_ROWS) {
    this.#limit = limit
  }

  /** The cursors of the pages beyond the window. */
  get edges(): WindowEdges {
    return this.#edges
  }

  /** Replaces all events, which are in order. */
  replace(events: readonly Event[], edges: WindowEdges): void {
    this.#events = events
    this.#offset = 0
    this.#edges = edges
  }

  /** Adds events before the first, and drops the last above the limit. */
  prepend(events: readonly Event[], earlier: number | null): void {
    const first = this.#events[0]?.seq ?? Infinity
    const fresh = events.filter(({ seq }) => seq < first)
    const all = [...fresh, ...this.#events]
    this.#offset -= fresh.length
    this.#events = all.slice(0, this.#limit)
    this.#edges = { earlier, later: all.length > this.#limit ? (this.#events.at(-1)?.seq ?? null) : this.#edges.later }
  }

  /** Adds events after the last, and drops the first above the limit. */
  append(events: readonly Event[], later: number | null): void {
    const last = this.#events.at(-1)?.seq ?? 0
    const all = [...this.#events, ...events.filter(({ seq }) => seq > last)]
    const excess = Math.max(0, all.length - this.#limit)
    this.#offset += excess
    this.#events = all.slice(excess)
    this.#edges = { earlier: excess > 0 ? (this.#events[0]?.seq ?? null) : this.#edges.earlier, later }
  }

  /** Whether appending this many events drops the row at this index. */
  wouldDrop(count: number, index: number): boolean {
    return this.#events.length + count - this.#limit > index
  }

  /** Leaves the end of the log: events after the last are not followed any more. */
  detach(): void {
    this.#edges = { ...this.#edges, later: this.#events.at(-1)?.seq ?? 0 }
  }

  /** The event with this seq, if it is in memory. */
  find(seq: number): Event | undefined {
    const event = this.#events[lowerBound(this.#events, seq)]
    return event?.seq === seq ? event : undefined
  }

  /** The current rows. */
  rows(): TimelineRows {
    const events = this.#events
    const { earlier, later } = this.#edges
    return { length: events.length, at: (index) => events[index], offset: this.#offset, hasEarlier: earlier !== null, hasLater: later !== null }
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
