/**
 * A bounded part of the log, in order, that moves: it grows at one end and is trimmed at
 * the other. Not reactive: its owner publishes `rows()` after each change.
 */
import { eventNumber, type Event, type EventId, type LogCursor } from '../../proto/index.ts'

/** The most events in memory. */
export const MAX_ROWS = 2_000

/** After which event a page begins: one that a cursor names, or none. */
export type PageStart = LogCursor | 'start'

/** Where the log goes on beyond the window: the cursors of the next pages, or null at an end of the log. */
export type WindowEdges = { readonly earlier: LogCursor | null; readonly later: PageStart | null }

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
  prepend(events: readonly Event[], earlier: LogCursor | null): void {
    const ids = this.#ids()
    const known = events.findIndex(({ id }) => ids.has(id))
    const fresh = known < 0 ? events : events.slice(0, known)
    const all = [...fresh, ...this.#events]
    this.#offset -= fresh.length
    this.#events = all.slice(0, this.#limit)
    this.#edges = { earlier, later: all.length > this.#limit ? (this.#events.at(-1)?.seq ?? null) : this.#edges.later }
  }

  /** Adds events after the last, and drops the first above the limit. */
  append(events: readonly Event[], later: PageStart | null): void {
    const ids = this.#ids()
    const known = events.findLastIndex(({ id }) => ids.has(id))
    const all = [...this.#events, ...events.slice(known + 1)]
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
    this.#edges = { ...this.#edges, later: this.#events.at(-1)?.seq ?? 'start' }
  }

  /** The event with this number, if it is in memory. */
  find(number: string): Event | undefined {
    return this.#events.find((event) => eventNumber(event) === number)
  }

  /** The current rows. */
  rows(): TimelineRows {
    const events = this.#events
    const { earlier, later } = this.#edges
    return { length: events.length, at: (index) => events[index], offset: this.#offset, hasEarlier: earlier !== null, hasLater: later !== null }
  }

  /** The events in memory: pages and the stream may overlap. */
  #ids(): ReadonlySet<EventId> {
    return new Set(this.#events.map(({ id }) => id))
  }
}
