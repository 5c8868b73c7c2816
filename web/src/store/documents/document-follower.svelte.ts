/**
 * Documents of the daemon as reactive state: a selection of them, kept up to date.
 *
 * Changes arrive in bursts. They are applied once per animation frame, and reading
 * pauses while too many wait. The connection counts as live only once everything up to
 * now was received: until then, what is shown may be old.
 */
import type { DocumentChange, ErrorResponse } from '../../proto/index.ts'
import { DocumentStream, type ConnectionState, type StreamEnvironment } from '../../net/index.ts'
import { nextFrame } from './next-frame.ts'
import { applyChanges, NO_DOCUMENTS, type DocumentViews } from './views.ts'

/** What the owner of the documents is told. */
export type DocumentObserver = {
  /** Changes were applied: their keys can be read, and these commands are in the log. */
  readonly applied?: (changes: readonly DocumentChange[], commands: readonly string[]) => void
  /** A snapshot has replaced all documents. */
  readonly replaced?: () => void
  /** The daemon refuses to send these documents. */
  readonly refused?: (problem: ErrorResponse) => void
  /** The login has ended. */
  readonly loggedOut?: () => void
}

const MAX_WAITING = 2_500

/** See the head of this file. */
export class DocumentFollower {
  #connection = $state.raw<ConnectionState>({ kind: 'connecting', attempt: 0, lostSince: null })
  #views = $state.raw<DocumentViews>(NO_DOCUMENTS)
  #loading = $state(true)
  readonly #observer: DocumentObserver
  readonly #stream: DocumentStream
  /** The state of the stream, which is connected before it has caught up. */
  #streamState: ConnectionState = this.#connection
  #caughtUp = false
  #changes: DocumentChange[] = []
  #commands: string[] = []
  #flushed: Promise<void> | null = null

  constructor(query: URLSearchParams, observer: DocumentObserver, environment?: StreamEnvironment) {
    this.#observer = observer
    const sink = {
      state: (state: ConnectionState) => this.#setStreamState(state),
      snapshot: (documents: readonly DocumentChange[]) => this.#replace(documents),
      changes: (changes: readonly DocumentChange[], commands: readonly string[]) => this.#enqueue(changes, commands),
      live: () => this.#setCaughtUp(),
      resync: () => this.#resync(),
      refused: (problem: ErrorResponse) => observer.refused?.(problem),
    }
    this.#stream = new DocumentStream(query, sink, environment)
  }

  /** The state of the connection to the daemon. */
  get connection(): ConnectionState {
    return this.#connection
  }

  /** The documents. */
  get views(): DocumentViews {
    return this.#views
  }

  /** Whether a snapshot is still being read: until then, nothing can be called missing. */
  get loading(): boolean {
    return this.#loading
  }

  /** Whether the documents are current and the daemon is connected. */
  get ready(): boolean {
    return !this.#loading && this.#connection.kind === 'live'
  }

  /** Starts to follow, also after the login had ended. */
  async start(): Promise<void> {
    await this.#stream.start()
  }

  /** Stops following; the documents stay. */
  stop(): void {
    this.#stream.stop()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#stream.retryNow()
  }

  /** The page was hidden or shown, which decides whether it stays connected. */
  exchangeSlot(): void {
    this.#stream.exchangeSlot()
  }

  /** Records that the login has ended: a request was answered with 401. */
  setLoggedOut(): void {
    this.#stream.stop()
    this.#connection = { kind: 'loggedOut' }
  }

  /** Adds documents that were fetched because the selection does not include them. */
  addFetched(changes: readonly DocumentChange[]): void {
    this.#views = applyChanges(this.#views, changes)
  }

  #setStreamState(state: ConnectionState): void {
    this.#streamState = state
    if (state.kind !== 'live') this.#caughtUp = false
    if (state.kind === 'loggedOut') this.#observer.loggedOut?.()
    // While logged out, an attempt to connect is not shown until it succeeds.
    if (state.kind === 'connecting' && this.#connection.kind === 'loggedOut') return
    if (state.kind !== 'live') this.#connection = state
  }

  #enqueue(changes: readonly DocumentChange[], commands: readonly string[]): Promise<void> | undefined {
    this.#changes.push(...changes)
    this.#commands.push(...commands)
    this.#flushed ??= nextFrame().then(() => this.#flush())
    return this.#changes.length >= MAX_WAITING ? this.#flushed : undefined
  }

  #flush(): void {
    const [changes, commands] = [this.#changes, this.#commands]
    this.#changes = []
    this.#commands = []
    this.#flushed = null
    this.#views = applyChanges(this.#views, changes)
    if (changes.length > 0 || commands.length > 0) this.#observer.applied?.(changes, commands)
    this.#showLive()
  }

  #replace(documents: readonly DocumentChange[]): void {
    this.#changes = []
    this.#views = applyChanges(NO_DOCUMENTS, documents)
    this.#loading = false
    this.#observer.replaced?.()
  }

  /** The old documents stay until the snapshot is complete; meanwhile the page does not count as connected. */
  #resync(): void {
    this.#changes = []
    this.#loading = true
    this.#caughtUp = false
    this.#connection = { kind: 'connecting', attempt: 0, lostSince: null }
  }

  #setCaughtUp(): void {
    this.#caughtUp = true
    // Otherwise once the changes before it are applied.
    if (this.#flushed === null) this.#showLive()
  }

  #showLive(): void {
    if (this.#caughtUp && this.#streamState.kind === 'live' && this.#connection.kind !== 'live') this.#connection = this.#streamState
  }
}
