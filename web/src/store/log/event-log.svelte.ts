/**
 * The event log as reactive state: the connection, the projection, and the rows
 * of the timeline.
 *
 * Events arrive in bursts of thousands. They are batched and folded once per
 * animation frame, and reading pauses while a batch is full.
 */
import type { Event } from '../../proto/index.ts'
import { adoptPageToken, EventStream, type ConnectionState } from '../../net/index.ts'
import type { EventFilter, EventScope } from '../timeline/filter.ts'
import { Timeline, type TimelineRows } from '../timeline/timeline.ts'
import { EMPTY_PROJECTION, foldEvents, type LogProjection } from './projection.ts'

const BATCH_LIMIT = 2_500
const HIDDEN_FRAME_MS = 200

/** See the head of this file. */
export class EventLog {
  #connection = $state.raw<ConnectionState>({ kind: 'connecting', attempt: 0, lostSince: null })
  #projection = $state.raw<LogProjection>(EMPTY_PROJECTION)
  #rows: TimelineRows
  #replaying = $state(true)
  #partial = $state(false)
  readonly #timeline = new Timeline()
  readonly #onEvents: (events: readonly Event[]) => void
  readonly #stream: EventStream
  #batch: Event[] = []
  #flushed: Promise<void> | null = null
  #caughtUp = false

  /** `onEvents` is called with every event after it was folded. */
  constructor(onEvents: (events: readonly Event[]) => void) {
    this.#rows = $state.raw(this.#timeline.rows())
    this.#onEvents = onEvents
    this.#stream = new EventStream({
      state: (state) => this.#setConnection(state),
      events: (events) => this.#enqueue(events),
      caughtUp: () => this.#setCaughtUp(),
      reset: () => this.#reset(),
      partial: () => (this.#partial = true),
    })
  }

  /** The state of the connection to the daemon. */
  get connection(): ConnectionState {
    return this.#connection
  }

  /** The state that is folded from the log. */
  get projection(): LogProjection {
    return this.#projection
  }

  /** The rows of the timeline. */
  get rows(): TimelineRows {
    return this.#rows
  }

  /** Whether past events are still being read: until then, nothing can be called missing. */
  get replaying(): boolean {
    return this.#replaying
  }

  /** Whether this login may see only a part of the log. */
  get partial(): boolean {
    return this.#partial
  }

  /** Starts to follow the log, also after the login had ended. */
  follow(): void {
    void adoptPageToken().then(() => this.#stream.start())
  }

  /** Stops following. */
  stop(): void {
    this.#stream.stop()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#stream.retryNow()
  }

  /** Records that the login has ended: a request was answered with 401. */
  setLoggedOut(): void {
    this.#stream.stop()
    this.#connection = { kind: 'loggedOut' }
  }

  /** Selects the events of the timeline. */
  selectRows(scope: EventScope, filter: EventFilter): void {
    this.#timeline.select(scope, filter)
    this.#rows = this.#timeline.rows()
  }

  /** The event with this seq, if it is in memory. */
  find(seq: number): Event | undefined {
    return this.#timeline.find(seq)
  }

  /** Adds fetched data to the projection, where the log holds only references. */
  amend(change: (projection: LogProjection) => LogProjection): void {
    this.#projection = change(this.#projection)
  }

  #setConnection(state: ConnectionState): void {
    // While logged out, an attempt to connect is not shown until it succeeds.
    if (state.kind === 'connecting' && this.#connection.kind === 'loggedOut') return
    this.#connection = state
  }

  #enqueue(events: readonly Event[]): Promise<void> | undefined {
    for (const event of events) this.#batch.push(event)
    this.#flushed ??= nextFrame().then(() => this.#flush())
    return this.#batch.length >= BATCH_LIMIT ? this.#flushed : undefined
  }

  #flush(): void {
    const events = this.#batch
    this.#batch = []
    this.#flushed = null
    if (events.length === 0) return
    this.#projection = foldEvents(this.#projection, events)
    this.#timeline.append(events)
    this.#rows = this.#timeline.rows()
    this.#replaying &&= !this.#caughtUp
    this.#onEvents(events)
  }

  #reset(): void {
    this.#batch = []
    this.#projection = EMPTY_PROJECTION
    this.#timeline.clear()
    this.#rows = this.#timeline.rows()
    this.#replaying = true
    this.#caughtUp = false
  }

  /** All past events were read; replaying ends once the current batch is folded. */
  #setCaughtUp(): void {
    this.#caughtUp = true
    if (this.#flushed === null) this.#replaying = false
  }
}

/** Resolves at the next animation frame, or after a timer while the page is hidden. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve, HIDDEN_FRAME_MS)
    else requestAnimationFrame(() => resolve())
  })
}
