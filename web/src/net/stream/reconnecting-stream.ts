/**
 * Reads a stream of server-sent events and reconnects without end.
 *
 * It owns the connection: it connects, detects silence, backs off and reports its
 * state. What is read from where, and where to resume, is up to its source.
 *
 * Without a slot (see `stream-slots.ts`) it does not stay connected: it disconnects when
 * it has read everything up to now, and asks again soon. Since it then knows as much as
 * one that stays connected, up to that delay, its state stays live.
 */
import type { ErrorResponse } from '../../proto/index.ts'
import { pageTokenHeaders } from '../http/page-token.ts'
import { describeFailure, isErrorResponse } from '../http/request.ts'
import { backoffDelay } from '../retry/backoff.ts'
import { CancellableDelay } from '../retry/cancellable-delay.ts'
import { SseParser, type SseMessage } from './sse-parser.ts'
import { sharedSlots, type HeldSlot, type StreamSlots } from './stream-slots.ts'

/** The state of the connection to the daemon. Times are milliseconds of the browser's clock. */
export type ConnectionState =
  | { readonly kind: 'connecting'; readonly attempt: number; readonly lostSince: number | null }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  | { readonly kind: 'loggedOut' }

/** What is read, and who receives it. */
export type StreamSource = {
  /** The path to connect to, which includes where to resume. */
  readonly path: () => string
  readonly state: (state: ConnectionState) => void
  /** New messages, in order. If a promise is returned, reading pauses until it resolves. Throws if one is invalid. */
  readonly messages: (messages: readonly SseMessage[]) => Promise<void> | undefined
  /** The request was refused: true gives up, false tries again later. */
  readonly refused?: (problem: ErrorResponse) => boolean
}

/** The browser functions that are needed; tests replace them. */
export type StreamEnvironment = {
  readonly fetch: typeof fetch
  readonly now: () => number
  readonly random: () => number
  /** Absent if every stream may stay connected. */
  readonly slots?: StreamSlots
}

const BROWSER: StreamEnvironment = { fetch: (...args) => fetch(...args), now: Date.now, random: Math.random, slots: sharedSlots() }

const CONNECT_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 40_000
/** Time without data after which the daemon's health is checked: a stopped process closes no connection. */
const QUIET_MS = 4_000
const HEALTH_CHECK_TIMEOUT_MS = 4_000
/** How long a stream without a slot waits before it asks for what is new. */
const POLL_MS = 1_500
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 2_000

/** Held by streams that may stay connected whatever others do. */
const NO_LIMIT: HeldSlot = { release: () => undefined }

type ConnectionEnd =
  /** It has read everything up to now, and makes room for others. */
  | { readonly kind: 'yielded' }
  | { readonly kind: 'loggedOut' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'lost'; readonly reason: string }

/** See the head of this file. */
export class ReconnectingStream {
  readonly #source: StreamSource
  readonly #environment: StreamEnvironment
  #stopped = new AbortController()
  /** Ends when the stream was stopped or the login has ended; null while it does not run. */
  #run: Promise<void> | null = null
  readonly #retryDelay = new CancellableDelay()
  #liveSince: number | null = null
  /** Ends the current connection, which is continued by another. */
  #yield = new AbortController()

  constructor(source: StreamSource, environment: StreamEnvironment = BROWSER) {
    this.#source = source
    this.#environment = environment
  }

  /** Connects, and stays connected until `stop` or until the login ends. May be started again after that. */
  async start(): Promise<void> {
    const previous = this.#run
    if (previous !== null && !this.#stopped.signal.aborted) return previous
    const stopped = new AbortController()
    this.#stopped = stopped
    // A run that was stopped may still be ending.
    const run = (previous ?? Promise.resolve()).then(() => this.#keepConnected(stopped.signal))
    this.#run = run
    await run
    if (this.#run === run) this.#run = null
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#retryDelay.cancel()
  }

  /** Connects anew where it is: the page was hidden or shown, so that another slot is right for it. */
  exchangeSlot(): void {
    this.#yield.abort()
    this.#retryDelay.cancel()
  }

  /** Disconnects. */
  stop(): void {
    this.#stopped.abort()
    this.#retryDelay.cancel()
  }

  async #keepConnected(stopped: AbortSignal): Promise<void> {
    const { now, random } = this.#environment
    let failures = 0
    let lostSince: number | null = null
    let yielded = false
    while (!stopped.aborted) {
      if (!yielded) this.#source.state({ kind: 'connecting', attempt: failures, lostSince })
      this.#yield = new AbortController()
      const slot = this.#environment.slots === undefined ? NO_LIMIT : await this.#environment.slots.acquire()
      const end = await this.#connectOnce(stopped, slot === null, !yielded).finally(() => slot?.release())
      yielded = end.kind === 'yielded'
      if (stopped.aborted || end.kind === 'refused') return
      if (end.kind === 'yielded') {
        failures = 0
        // It may have been asked to exchange its slot meanwhile.
        if (slot === null && !this.#yield.signal.aborted) await this.#retryDelay.wait(POLL_MS)
        continue
      }
      if (end.kind === 'loggedOut') {
        this.#source.state(end)
        return
      }
      const stable = this.#liveSince !== null && now() - this.#liveSince >= STABLE_MS
      if (this.#liveSince !== null) lostSince = null
      this.#liveSince = null
      if (stable) failures = 0
      lostSince ??= now()
      const delay = backoffDelay(failures++, random)
      this.#source.state({ kind: 'lost', since: lostSince, retryAt: now() + delay, reason: end.reason })
      await this.#retryDelay.wait(delay)
    }
  }

  /** One connection. If it polls, it ends with the message that everything up to now was received. */
  async #connectOnce(stopped: AbortSignal, polls: boolean, announces: boolean): Promise<ConnectionEnd> {
    const timeout = new AbortController()
    const yielding = this.#yield.signal
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
      const response = await this.#environment.fetch(this.#source.path(), {
        headers: { accept: 'text/event-stream', ...pageTokenHeaders() },
        credentials: 'same-origin',
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.any([timeout.signal, stopped, yielding]),
      })
      if (response.status === 401) return { kind: 'loggedOut' }
      if (!response.ok || response.body === null) return await this.#endOf(response)
      if (announces || this.#liveSince === null) {
        this.#liveSince = this.#environment.now()
        this.#source.state({ kind: 'live', since: this.#liveSince })
      }
      const parser = new SseParser()
      const reader = response.body.getReader()
      for (;;) {
        receivedAt = this.#environment.now()
        watchSilence()
        const { done, value } = await reader.read()
        if (done) return { kind: 'lost', reason: 'the server closed the connection' }
        const messages = parser.push(value)
        // Messages of a stream that was stopped meanwhile belong to nobody.
        if (messages.length > 0 && !stopped.aborted) await this.#source.messages(messages)
        if (polls && messages.some(({ type }) => type === 'live')) return { kind: 'yielded' }
      }
    } catch (error) {
      if (yielding.aborted && !stopped.aborted && this.#liveSince !== null) return { kind: 'yielded' }
      if (timeout.signal.aborted) return { kind: 'lost', reason: describeFailure(timeout.signal.reason) }
      const cut = this.#liveSince !== null && error instanceof TypeError
      return { kind: 'lost', reason: cut ? 'the connection was lost' : describeFailure(error) }
    } finally {
      clearTimeout(timer)
      timeout.abort()
    }
  }

  /** What a response that is no stream means. */
  async #endOf(response: Response): Promise<ConnectionEnd> {
    const problem: unknown = await response.json().catch(() => null)
    if (isErrorResponse(problem) && this.#source.refused?.(problem) === true) return { kind: 'refused' }
    return { kind: 'lost', reason: `the server responded with status ${String(response.status)}` }
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
}
