/**
 * The events that are held in memory, and the ones of them that are looked at.
 *
 * Both lists grow at the end and lose at the start; a new event costs the same
 * whether it is the tenth or the hundred-thousandth. Not reactive: whoever owns
 * it publishes `rows()` when a batch is through.
 */
import type { Event } from '../../proto/index.ts'
import { inScope, matcher, NO_FILTER, type Filter, type Scope } from './filter.ts'

/** How many events are held. Older ones stay in the daemon's log. */
export const HELD_LIMIT = 100_000

/** A choice and how many events of the scope it has. */
export type Facet = ReadonlyMap<string, number>

/** What the list draws. A new value for each change, over lists that are shared. */
export type Rows = {
  readonly length: number
  readonly at: (index: number) => Event | undefined
  /** How many rows have left at the start since this view was made. */
  readonly dropped: number
  /** How many events of the scope are held, before kind, actor and text. */
  readonly scoped: number
  /** How many events of the whole log are no longer held. */
  readonly forgotten: number
  readonly kinds: Facet
  readonly actors: Facet
}

/** See the head of this file. */
export class Timeline {
  readonly #limit: number
  #held: Event[] = []
  #forgotten = 0
  #scope: Scope = { kind: 'all' }
  #test = matcher(NO_FILTER)
  #shown: Event[] = []
  #dropped = 0
  #scoped = 0
  #kinds = new Map<string, number>()
  #actors = new Map<string, number>()

  constructor(limit: number = HELD_LIMIT) {
    this.#limit = limit
  }

  /** Adds the next events, and lets the oldest go when there are too many. */
  append(events: readonly Event[]): void {
    for (const event of events) {
      this.#held.push(event)
      this.#show(event)
    }
    const excess = this.#held.length - this.#limit
    if (excess > 0) this.#forget(excess)
  }

  /** Forgets everything but what is looked for. */
  clear(): void {
    this.#held = []
    this.#forgotten = 0
    this.#rebuild()
  }

  /** Looks at something else. */
  look(scope: Scope, filter: Filter): void {
    this.#scope = scope
    this.#test = matcher(filter)
    this.#rebuild()
  }

  /** The held event with this place in the log. */
  find(seq: number): Event | undefined {
    return this.#held[lowerBound(this.#held, seq)]?.seq === seq
      ? this.#held[lowerBound(this.#held, seq)]
      : undefined
  }

  /** What is looked at, as of now. */
  rows(): Rows {
    const shown = this.#shown
    return {
      length: shown.length,
      at: (index) => shown[index],
      dropped: this.#dropped,
      scoped: this.#scoped,
      forgotten: this.#forgotten,
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
    for (const event of this.#held) this.#show(event)
  }

  #show(event: Event): void {
    if (!inScope(this.#scope, event)) return
    this.#count(event, 1)
    if (this.#test(event)) this.#shown.push(event)
  }

  #forget(count: number): void {
    const gone = this.#held.splice(0, count)
    this.#forgotten += count
    for (const event of gone) if (inScope(this.#scope, event)) this.#count(event, -1)
    const first = this.#held[0]?.seq ?? Infinity
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

/** The first index whose event is at or after the place; events are in order. */
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
