/**
 * The log as the screen sees it: the connection, what is folded, and the rows.
 *
 * Events come in bursts of thousands. They are gathered and folded once a
 * frame, and reading waits while more than a frame's worth is gathered.
 */
import type { Event } from '../../proto/index.ts'
import { adoptPageToken, EventStream, type ConnectionState } from '../../net/index.ts'
import { fold, NOTHING, type Folded } from './projection.ts'
import type { Filter, Scope } from '../timeline/filter.ts'
import { Timeline, type Rows } from '../timeline/timeline.ts'

const BURST = 2_500
const HIDDEN_MS = 200

/** See the head of this file. */
export class Log {
  #connection = $state.raw<ConnectionState>({ kind: 'connecting', attempt: 0, lostSince: null })
  #folded = $state.raw<Folded>(NOTHING)
  #rows: Rows
  #replaying = $state(true)
  #partial = $state(false)
  readonly #timeline = new Timeline()
  readonly #confirmed: (events: readonly Event[]) => void
  readonly #stream: EventStream
  #gathered: Event[] = []
  #flushed: Promise<void> | null = null
  #caughtUp = false

  /** `confirmed` is told of every event after it was folded. */
  constructor(confirmed: (events: readonly Event[]) => void) {
    this.#rows = $state.raw(this.#timeline.rows())
    this.#confirmed = confirmed
    this.#stream = new EventStream({
      state: (state) => this.#became(state),
      events: (events) => this.#gather(events),
      caughtUp: () => this.#arrive(),
      reset: () => this.#reset(),
      partial: () => (this.#partial = true),
    })
  }

  /** How things stand with the daemon. */
  get connection(): ConnectionState {
    return this.#connection
  }

  /** What the log says. */
  get folded(): Folded {
    return this.#folded
  }

  /** The events that are looked at. */
  get rows(): Rows {
    return this.#rows
  }

  /** Whether the past is still being read: nothing may be called missing yet. */
  get replaying(): boolean {
    return this.#replaying
  }

  /** Whether this login is shown only a part of the log. */
  get partial(): boolean {
    return this.#partial
  }

  /** Begins to follow; also begins again after the login had ended. */
  follow(): void {
    void adoptPageToken().then(() => this.#stream.start())
  }

  /** Ends following, for good. */
  stop(): void {
    this.#stream.stop()
  }

  /** Ends the wait for the next attempt. */
  retryNow(): void {
    this.#stream.retryNow()
  }

  /** Some request was answered with 401: the login has ended. */
  loggedOut(): void {
    this.#stream.stop()
    this.#connection = { kind: 'loggedOut' }
  }

  /** Looks at other events. */
  look(scope: Scope, filter: Filter): void {
    this.#timeline.look(scope, filter)
    this.#rows = this.#timeline.rows()
  }

  /** The event with this place in the log, if it is held. */
  find(seq: number): Event | undefined {
    return this.#timeline.find(seq)
  }

  /** Adds what the log only names, as the daemon tells it. */
  amend(change: (folded: Folded) => Folded): void {
    this.#folded = change(this.#folded)
  }

  #became(state: ConnectionState): void {
    // Checking whether the login is back is no news until it is.
    if (state.kind === 'connecting' && this.#connection.kind === 'loggedOut') return
    this.#connection = state
  }

  #gather(events: readonly Event[]): Promise<void> | undefined {
    for (const event of events) this.#gathered.push(event)
    this.#flushed ??= nextFrame().then(() => this.#flush())
    return this.#gathered.length >= BURST ? this.#flushed : undefined
  }

  #flush(): void {
    const events = this.#gathered
    this.#gathered = []
    this.#flushed = null
    if (events.length === 0) return
    this.#folded = fold(this.#folded, events)
    this.#timeline.append(events)
    this.#rows = this.#timeline.rows()
    this.#replaying &&= !this.#caughtUp
    this.#confirmed(events)
  }

  #reset(): void {
    this.#gathered = []
    this.#folded = NOTHING
    this.#timeline.clear()
    this.#rows = this.#timeline.rows()
    this.#replaying = true
    this.#caughtUp = false
  }

  /** The past has been read; it is on the screen once what is gathered is folded. */
  #arrive(): void {
    this.#caughtUp = true
    if (this.#flushed === null) this.#replaying = false
  }
}

/** The next frame; a hidden page draws none, so there it is a timer. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve, HIDDEN_MS)
    else requestAnimationFrame(() => resolve())
  })
}
