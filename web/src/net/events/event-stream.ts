/**
 * Follows the event log over SSE and reconnects without end.
 *
 * It owns the connection: it connects, detects silence, backs off, resumes after
 * the last event, and reloads the log when the hash chain is broken. It does not
 * store events; they go to the sink in batches.
 */
import type { Event } from '../../proto/index.ts'
import { pageTokenHeaders } from '../http/page-token.ts'
import { describeFailure } from '../http/request.ts'
import { backoffDelay } from '../retry/backoff.ts'
import { CancellableDelay } from '../retry/cancellable-delay.ts'
import { decodeEvent } from './decode-event.ts'
import { LogCursor } from './log-cursor.ts'
import { SseParser } from './sse-parser.ts'

/** The state of the connection to the daemon. Times are milliseconds of the browser's clock. */
export type ConnectionState =
  | { readonly kind: 'connecting'; readonly attempt: number; readonly lostSince: number | null }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  | { readonly kind: 'loggedOut' }

/** Receives events and state changes. */
export type EventSink = {
  readonly state: (state: ConnectionState) => void
  /** New events, in order, none twice. If a promise is returned, reading pauses until it resolves. */
  readonly events: (events: readonly Event[]) => Promise<void> | undefined
  /** All events that existed when the connection began have been delivered. */
  readonly caughtUp: () => void
  /** Drop every event: the log is read again from its beginning. */
  readonly reset: () => void
  /** This login may see only a part of the log. */
  readonly partial: () => void
}

/** The browser functions that are needed; tests replace them. */
export type StreamEnvironment = {
  readonly fetch: typeof fetch
  readonly now: () => number
  readonly random: () => number
}

const BROWSER: StreamEnvironment = { fetch: (...args) => fetch(...args), now: Date.now, random: Math.random }

const CONNECT_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 40_000
/** Time without data after which the daemon's health is checked: a stopped process closes no connection. */
const QUIET_MS = 4_000
const HEALTH_CHECK_TIMEOUT_MS = 4_000
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 2_000

type ConnectionEnd =
  | { readonly kind: 'loggedOut' }
  | { readonly kind: 'reload' }
  | { readonly kind: 'lost'; readonly reason: string }

/** See the head of this file. */
export class EventStream {
  readonly #sink: EventSink
  readonly #environment: StreamEnvironment
  readonly #cursor = new LogCursor()
  #stopped = new AbortController()
  #running = false
  readonly #retryDelay = new CancellableDelay()
  #liveSince: number | null = null

  constructor(sink: EventSink, environment: StreamEnvironment = BROWSER) {
    this.#sink = sink
    this.#environment = environment
  }

  /** Connects, and stays connected until `stop` or until the login ends. May be started again after that. */
  async start(): Promise<void> {
    if (this.#running) return
    this.#running = true
    this.#stopped = new AbortController()
    try {
      await this.#keepConnected()
    } finally {
      this.#running = false
    }
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#retryDelay.cancel()
  }

  /** Disconnects. */
  stop(): void {
    this.#stopped.abort()
    this.#retryDelay.cancel()
  }

  async #keepConnected(): Promise<void> {
    const { now, random } = this.#environment
    let failures = 0
    let lostSince: number | null = null
    while (!this.#stopped.signal.aborted) {
      this.#sink.state({ kind: 'connecting', attempt: failures, lostSince })
      const end = await this.#connectOnce()
      if (this.#stopped.signal.aborted) return
      if (end.kind === 'loggedOut') {
        this.#sink.state(end)
        return
      }
      const stable = this.#liveSince !== null && now() - this.#liveSince >= STABLE_MS
      if (this.#liveSince !== null) lostSince = null
      this.#liveSince = null
      if (stable) failures = 0
      if (end.kind === 'reload') {
        this.#cursor.reset()
        this.#sink.reset()
        if (failures++ === 0) continue
      }
      lostSince ??= now()
      const delay = backoffDelay(failures++, random)
      const reason = end.kind === 'lost' ? end.reason : 'the log must be read again'
      this.#sink.state({ kind: 'lost', since: lostSince, retryAt: now() + delay, reason })
      await this.#retryDelay.wait(delay)
    }
  }

  async #connectOnce(): Promise<ConnectionEnd> {
    const timeout = new AbortController()
    let timer = setTimeout(() => timeout.abort(new Error('the request timed out')), CONNECT_TIMEOUT_MS)
    let receivedAt = 0
    const watchSilence = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const before = receivedAt
        const silent = this.#environment.now() - before >= SILENCE_TIMEOUT_MS
        if (silent) timeout.abort(new Error('no data was received for 40 s'))
        else
          void this.#isHealthy(timeout.signal).then((healthy) => {
            if (timeout.signal.aborted || receivedAt !== before) return
            if (healthy) watchSilence()
            else timeout.abort(new Error('the daemon does not respond'))
          })
      }, QUIET_MS)
    }
    try {
      const response = await this.#environment.fetch(`/api/events?after=${this.#cursor.after}`, {
        headers: { accept: 'text/event-stream', ...pageTokenHeaders() },
        credentials: 'same-origin',
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.any([timeout.signal, this.#stopped.signal]),
      })
      if (response.status === 401) return { kind: 'loggedOut' }
      if (!response.ok || response.body === null) {
        return { kind: 'lost', reason: `the server responded with status ${String(response.status)}` }
      }
      this.#liveSince = this.#environment.now()
      this.#sink.state({ kind: 'live', since: this.#liveSince })
      const parser = new SseParser()
      const reader = response.body.getReader()
      for (;;) {
        receivedAt = this.#environment.now()
        watchSilence()
        const { done, value } = await reader.read()
        if (done) return { kind: 'lost', reason: 'the server closed the connection' }
        if (!(await this.#deliver(parser, value))) {
          await reader.cancel()
          return { kind: 'reload' }
        }
      }
    } catch (error) {
      if (timeout.signal.aborted) return { kind: 'lost', reason: describeFailure(timeout.signal.reason) }
      const cut = this.#liveSince !== null && error instanceof TypeError
      return { kind: 'lost', reason: cut ? 'the connection was lost' : describeFailure(error) }
    } finally {
      clearTimeout(timer)
      timeout.abort()
    }
  }

  /** Whether the daemon responds within the health check timeout. */
  async #isHealthy(ended: AbortSignal): Promise<boolean> {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), HEALTH_CHECK_TIMEOUT_MS)
    try {
      const signal = AbortSignal.any([timeout.signal, ended])
      // Any response counts: a daemon with a full disk is still connected.
      await this.#environment.fetch('/api/health', { cache: 'no-store', redirect: 'error', signal })
      return true
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  /** Delivers the events in these bytes; false when the log must be read again. */
  async #deliver(parser: SseParser, bytes: Uint8Array): Promise<boolean> {
    const batch: Event[] = []
    let caughtUp = false
    for (const message of parser.push(bytes)) {
      if (message.type === 'resync') return false
      if (message.type === 'live') caughtUp = true
      if (message.type === 'message') batch.push(decodeEvent(message.data))
    }
    const wasPartial = this.#cursor.partial
    const result = this.#cursor.advance(batch)
    if (result.kind === 'broken') return false
    if (this.#cursor.partial && !wasPartial) this.#sink.partial()
    if (result.events.length > 0) await this.#sink.events(result.events)
    if (caughtUp) this.#sink.caughtUp()
    return true
  }
}
