/**
 * Follows the whole log and never gives up.
 *
 * It owns the connection: it connects, notices silence, waits, comes back after
 * the last event it has read, and begins anew when the chain is broken. What it
 * does not do is keep events: those go to the sink, batch by batch.
 */
import type { Event } from '../../proto/index.ts'
import { backoff } from '../retry/backoff.ts'
import { Cursor } from './log-cursor.ts'
import { decodeEvent } from './decode-event.ts'
import { whyNot } from '../http/request.ts'
import { Nap } from '../retry/cancellable-delay.ts'
import { pageHeaders } from '../http/page-token.ts'
import { SseParser } from './sse-parser.ts'

/** How things stand with the daemon. Times are milliseconds of the browser's clock. */
export type Connection =
  | { readonly kind: 'connecting'; readonly attempt: number; readonly lostSince: number | null }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  | { readonly kind: 'loggedOut' }

/** Who wants to know. */
export type Sink = {
  readonly state: (state: Connection) => void
  /** New events, in order, none twice. Reading waits for the promise, if there is one. */
  readonly events: (events: readonly Event[]) => Promise<void> | undefined
  /** All that was in the log when the connection began has been handed on. */
  readonly caughtUp: () => void
  /** Forget every event: the log is read again from its beginning. */
  readonly reset: () => void
  /** This login is shown only a part of the log. */
  readonly partial: () => void
}

/** What a follower needs from its surroundings, so that a test can bring its own. */
export type World = {
  readonly fetch: typeof fetch
  readonly now: () => number
  readonly random: () => number
}

const BROWSER: World = { fetch: (...args) => fetch(...args), now: Date.now, random: Math.random }

const CONNECT_MS = 10_000
const SILENCE_MS = 40_000
/** Silence after which the daemon is asked whether it is there: a stopped one closes nothing. */
const QUIET_MS = 4_000
const PROBE_MS = 4_000
const STEADY_MS = 2_000

type End =
  | { readonly kind: 'loggedOut' }
  | { readonly kind: 'refold' }
  | { readonly kind: 'lost'; readonly reason: string }

/** A follower of the log; `start` it once. */
export class Follower {
  readonly #sink: Sink
  readonly #world: World
  readonly #cursor = new Cursor()
  #stopped = new AbortController()
  #running = false
  readonly #nap = new Nap()
  #liveSince: number | null = null

  constructor(sink: Sink, world: World = BROWSER) {
    this.#sink = sink
    this.#world = world
  }

  /** Connects, and stays until `stop` or until the login has ended; then it may start again. */
  async start(): Promise<void> {
    if (this.#running) return
    this.#running = true
    this.#stopped = new AbortController()
    try {
      await this.#stay()
    } finally {
      this.#running = false
    }
  }

  /** Ends the wait, if it is waiting. */
  retryNow(): void {
    this.#nap.wake()
  }

  /** Ends for good. */
  stop(): void {
    this.#stopped.abort()
    this.#nap.wake()
  }

  async #stay(): Promise<void> {
    const { now, random } = this.#world
    let failures = 0
    let lostSince: number | null = null
    while (!this.#stopped.signal.aborted) {
      this.#sink.state({ kind: 'connecting', attempt: failures, lostSince })
      const end = await this.#once()
      if (this.#stopped.signal.aborted) return
      if (end.kind === 'loggedOut') {
        this.#sink.state(end)
        return
      }
      const steady = this.#liveSince !== null && now() - this.#liveSince >= STEADY_MS
      if (this.#liveSince !== null) lostSince = null
      this.#liveSince = null
      if (steady) failures = 0
      if (end.kind === 'refold') {
        this.#cursor.reset()
        this.#sink.reset()
        if (failures++ === 0) continue
      }
      lostSince ??= now()
      const wait = backoff(failures++, random)
      const reason = end.kind === 'lost' ? end.reason : 'the log has to be read again'
      this.#sink.state({ kind: 'lost', since: lostSince, retryAt: now() + wait, reason })
      await this.#nap.take(wait)
    }
  }

  async #once(): Promise<End> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(new Error('it did not answer in time')), CONNECT_MS)
    let heardAt = 0
    const listen = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const before = heardAt
        const silent = this.#world.now() - before >= SILENCE_MS
        if (silent) silence.abort(new Error('it has been silent for 40 s'))
        else
          void this.#answers(silence.signal).then((there) => {
            if (silence.signal.aborted || heardAt !== before) return
            if (there) listen()
            else silence.abort(new Error('it does not answer'))
          })
      }, QUIET_MS)
    }
    try {
      const response = await this.#world.fetch(`/api/events?after=${String(this.#cursor.seq)}`, {
        headers: { accept: 'text/event-stream', ...pageHeaders() },
        credentials: 'same-origin',
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.any([silence.signal, this.#stopped.signal]),
      })
      if (response.status === 401) return { kind: 'loggedOut' }
      if (!response.ok || response.body === null) {
        return { kind: 'lost', reason: `it answered ${String(response.status)}` }
      }
      this.#liveSince = this.#world.now()
      this.#sink.state({ kind: 'live', since: this.#liveSince })
      const parser = new SseParser()
      const reader = response.body.getReader()
      for (;;) {
        heardAt = this.#world.now()
        listen()
        const { done, value } = await reader.read()
        if (done) return { kind: 'lost', reason: 'it closed the connection' }
        if (!(await this.#deliver(parser, value))) {
          await reader.cancel()
          return { kind: 'refold' }
        }
      }
    } catch (error) {
      if (silence.signal.aborted) return { kind: 'lost', reason: whyNot(silence.signal.reason) }
      const cut = this.#liveSince !== null && error instanceof TypeError
      return { kind: 'lost', reason: cut ? 'the connection broke' : whyNot(error) }
    } finally {
      clearTimeout(timer)
      silence.abort()
    }
  }

  /** Whether the daemon answers at all, soon. */
  async #answers(ended: AbortSignal): Promise<boolean> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), PROBE_MS)
    try {
      const signal = AbortSignal.any([late.signal, ended])
      // Whatever it says, one that says it is there: a full disk is no lost connection.
      await this.#world.fetch('/api/health', { cache: 'no-store', redirect: 'error', signal })
      return true
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  /** Hands on what the bytes bring; false when the log must be read again. */
  async #deliver(parser: SseParser, bytes: Uint8Array): Promise<boolean> {
    const batch: Event[] = []
    let caughtUp = false
    for (const message of parser.push(bytes)) {
      if (message.type === 'resync') return false
      if (message.type === 'live') caughtUp = true
      if (message.type === 'message') batch.push(decodeEvent(message.data))
    }
    const wasPartial = this.#cursor.partial
    const step = this.#cursor.take(batch)
    if (step.kind === 'broken') return false
    if (this.#cursor.partial && !wasPartial) this.#sink.partial()
    if (step.events.length > 0) await this.#sink.events(step.events)
    if (caughtUp) this.#sink.caughtUp()
    return true
  }
}
