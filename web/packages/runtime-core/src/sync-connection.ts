/**
 * One WebSocket for all notebooks of a page: greets, follows, sends, and comes back when it is lost.
 *
 * Who the page is comes from the daemon's greeting and from nowhere else.
 */
import type { ClientId, NotebookId, NotebookPresence } from './types.ts'

const PROTOCOL = 1
const CONNECT_TIMEOUT_MS = 10_000
/** Something arrives between two pings, or the connection is lost. */
const PING_MS = 20_000
const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 10_000
/** A connection that lasted this long resets the delay. */
const STABLE_MS = 2_000
const OPEN = 1

/** The state of the connection. */
export type SyncState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number; readonly reason: string }
  | { readonly kind: 'ended'; readonly reason: string }

type TicketResult = { readonly kind: 'ticket'; readonly ticket: string } | { readonly kind: 'unreachable'; readonly reason: string } | { readonly kind: 'refused'; readonly reason: string }

/** How a page reaches its daemon. */
export type SyncOptions = {
  /** Where `/api/sync` is; the page's own origin if absent. */
  readonly origin?: string
  /** `fetch`, with whatever authenticates the page. */
  readonly request: (path: string, init: RequestInit) => Promise<Response>
}

/** Who the page is, and what it may do. */
export type Greeting = { readonly clientId: ClientId; readonly canWrite: boolean; readonly connection: number }

/** What a store hears. */
export type SyncFollower = {
  /** Connected: ask for the notebook. */
  readonly connected: (greeting: Greeting) => void
  readonly disconnected: () => void
  /** A message for stores, as it arrived. */
  readonly received: (message: string) => void
  readonly presence: (presence: NotebookPresence) => void
  readonly input: (execution: string, text: string) => void
  /** The daemon does not serve this notebook. */
  readonly unsubscribed: (error: string) => void
}

/** See the head of this file. */
export class SyncConnection {
  readonly #options: SyncOptions
  readonly #followers = new Map<NotebookId, SyncFollower>()
  readonly #listeners = new Set<() => void>()
  #state: SyncState = { kind: 'connecting' }
  #socket: WebSocket | null = null
  #greeting: Greeting | null = null
  #isRunning = false
  #isClosed = false
  #wake: (() => void) | null = null

  constructor(options: SyncOptions) {
    this.#options = options
  }

  get state(): SyncState {
    return this.#state
  }

  /** Calls a function after each change of the state. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Who the page is: waits for the first greeting. Fails if the daemon refuses the page. */
  async greeting(): Promise<Greeting> {
    this.#start()
    for (;;) {
      if (this.#greeting !== null) return this.#greeting
      if (this.#state.kind === 'ended') throw new Error(this.#state.reason)
      await new Promise<void>((resolve) => {
        const stop = this.subscribe(() => {
          stop()
          resolve()
        })
      })
    }
  }

  /** Follows a notebook. */
  follow(notebook: NotebookId, follower: SyncFollower): void {
    this.#followers.set(notebook, follower)
    if (this.#state.kind === 'live' && this.#greeting !== null) follower.connected(this.#greeting)
  }

  /** Follows a notebook no more. */
  unfollow(notebook: NotebookId): void {
    if (this.#followers.delete(notebook)) this.send({ type: 'unsubscribe', notebook })
  }

  /** Sends a message; false if there is no connection to send it to. */
  send(message: unknown): boolean {
    if (this.#state.kind !== 'live' || this.#socket?.readyState !== OPEN) return false
    this.#socket.send(JSON.stringify(message))
    return true
  }

  /** Sends a request with the page's credentials. */
  request(path: string, init: RequestInit): Promise<Response> {
    return this.#options.request(path, init)
  }

  /** Tries at once instead of after the delay. */
  retryNow(): void {
    this.#wake?.()
  }

  /** Ends the connection for good. */
  close(): void {
    this.#isClosed = true
    this.#wake?.()
    this.#socket?.close()
  }

  #setState(state: SyncState): void {
    this.#state = state
    for (const listener of [...this.#listeners]) listener()
  }

  #start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    let failures = 0
    while (!this.#isClosed) {
      const started = performance.now()
      const reason = await this.#connectOnce()
      for (const follower of this.#followers.values()) follower.disconnected()
      if (this.#isClosed || this.#state.kind === 'ended') break
      if (performance.now() - started > STABLE_MS) failures = 0
      const since = this.#state.kind === 'lost' ? this.#state.since : Date.now()
      this.#setState({ kind: 'lost', since, reason })
      await this.#wait(Math.min(FIRST_DELAY_MS * 2 ** failures++, LONGEST_DELAY_MS) * (0.5 + Math.random() / 2))
    }
    if (this.#state.kind !== 'ended') this.#setState({ kind: 'ended', reason: 'the connection was closed' })
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        globalThis.removeEventListener('online', done)
        this.#wake = null
        resolve()
      }
      const timer = setTimeout(done, ms)
      globalThis.addEventListener('online', done)
      this.#wake = done
    })
  }

  async #requestTicket(): Promise<TicketResult> {
    try {
      const response = await this.request('/api/sync/ticket', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}', signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
      if (response.ok) return { kind: 'ticket', ticket: ((await response.json()) as { readonly ticket: string }).ticket }
      const why = await response.json().then((body: unknown) => (body as { readonly error?: string }).error, () => undefined)
      const reason = why ?? `the daemon answered with status ${String(response.status)}`
      return { kind: response.status === 401 || response.status === 403 ? 'refused' : 'unreachable', reason }
    } catch {
      return { kind: 'unreachable', reason: 'the daemon cannot be reached' }
    }
  }

  /** Connects and serves until the connection is lost; returns why. */
  async #connectOnce(): Promise<string> {
    const result = await this.#requestTicket()
    if (result.kind === 'refused') {
      this.#setState({ kind: 'ended', reason: result.reason })
      return result.reason
    }
    if (result.kind === 'unreachable') return result.reason
    const url = new URL('/api/sync', this.#options.origin ?? globalThis.location.origin)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    url.searchParams.set('ticket', result.ticket)
    const socket = new WebSocket(url)
    this.#socket = socket
    return new Promise((resolve) => {
      let heard = false
      const end = (reason: string): void => {
        clearInterval(timer)
        socket.onopen = socket.onmessage = socket.onclose = null
        socket.close()
        if (this.#socket === socket) this.#socket = null
        resolve(reason)
      }
      const check = (): void => {
        if (!heard) return end('the daemon does not answer')
        heard = false
        if (socket.readyState === OPEN) socket.send('{"type":"ping"}')
      }
      let timer = setInterval(check, CONNECT_TIMEOUT_MS)
      socket.onopen = () => socket.send(JSON.stringify({ type: 'hello', protocol: PROTOCOL }))
      socket.onclose = () => end('the connection was lost')
      socket.onmessage = ({ data }) => {
        heard = true
        const refusal = this.#receive(String(data))
        if (refusal !== null) end(refusal)
        else if (this.#state.kind === 'live' && timer !== null) {
          clearInterval(timer)
          timer = setInterval(check, PING_MS)
        }
      }
    })
  }

  /** Takes a message; returns why the connection ends, if it does. */
  #receive(text: string): string | null {
    // The daemon writes these two fields first; the rest of a long message is read once, in the module.
    const [, type = '', notebook = null] = /^\{"type":"(\w+)"(?:,"notebook":"([^"]+)")?/.exec(text) ?? []
    const follower = notebook === null ? undefined : this.#followers.get(notebook as NotebookId)
    switch (type) {
      case 'welcome':
        return this.#welcome(JSON.parse(text) as { readonly principal: string; readonly connection: number; readonly canWrite: boolean })
      case 'snapshot':
      case 'events':
      case 'live':
        follower?.received(text)
        return null
      case 'accepted':
      case 'refused':
      case 'leaseRenewed':
      case 'fenced':
        // Keys and sessions are unique: the store that knows one takes it.
        for (const each of this.#followers.values()) each.received(text)
        return null
      case 'presence':
        follower?.presence((JSON.parse(text) as { readonly presence: NotebookPresence }).presence)
        return null
      case 'unsubscribed':
        follower?.unsubscribed((JSON.parse(text) as { readonly error: string }).error)
        return null
      case 'input': {
        const { execution, text: answer } = JSON.parse(text) as { readonly execution: string; readonly text: string }
        for (const each of this.#followers.values()) each.input(execution, answer)
        return null
      }
      case 'error':
        return (JSON.parse(text) as { readonly error: string }).error
      default:
        return null
    }
  }

  #welcome({ principal, connection, canWrite }: { readonly principal: string; readonly connection: number; readonly canWrite: boolean }): string | null {
    if (this.#greeting !== null && this.#greeting.clientId !== principal) {
      const reason = 'somebody else has logged in here: reload the page'
      this.#setState({ kind: 'ended', reason })
      return reason
    }
    // The one place where a ClientId is made.
    this.#greeting = { clientId: principal as ClientId, canWrite, connection }
    this.#setState({ kind: 'live' })
    for (const follower of this.#followers.values()) follower.connected(this.#greeting)
    return null
  }
}
