/**
 * The WebSocket to a project's terminal, with reconnection.
 *
 * It requests a ticket for each connection, tracks the offset up to which output
 * was received, sends acknowledgments and backs off between attempts. It does not
 * draw: bytes go to the display, in order and none twice. It reports `live` only
 * after the terminal has sent something, and does not retry after a refusal.
 */
import { MAX_TERMINAL_INPUT_BYTES, TERMINAL_ACK_BYTES, type Code, type ProjectId, type TerminalSize } from '../../proto/index.ts'
import { backoffDelay } from '../retry/backoff.ts'
import { CancellableDelay } from '../retry/cancellable-delay.ts'
import { encodeAck, encodeInput, encodeResize, parseMessage, type OutputFrame } from './frames.ts'
import { BROWSER, type TerminalConnectionState, type TerminalDisplay, type TerminalEnvironment, type TerminalObserver } from './types.ts'

/** An offset beyond any output: the daemon sends a snapshot and opens no shell if the last one has exited. */
const VIEW_OFFSET = '18446744073709551615'
/** `WebSocket.OPEN`. */
const OPEN = 1
const CONNECT_TIMEOUT_MS = 10_000
/** A shell may take long to start. */
const FIRST_MESSAGE_TIMEOUT_MS = 40_000
/** The daemon pings every 20 s. */
const SILENCE_TIMEOUT_MS = 45_000
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 2_000
/** How many bytes of input are buffered until the screen is drawn. */
const INPUT_BUFFER_LIMIT = 64 * 1024

/** `open` starts a shell if there is none; `view` does not. */
export type AttachMode = 'open' | 'view'

type TerminalConnectionEnd =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'final'; readonly state: TerminalConnectionState }

/** See the head of this file. */
export class TerminalSocket {
  readonly #project: ProjectId
  readonly #display: TerminalDisplay
  readonly #observer: TerminalObserver
  readonly #environment: TerminalEnvironment
  #socket: WebSocket | null = null
  /** Incremented by `attach` and `detach`, so that an older attempt notices that it is outdated. */
  #generation = 0
  readonly #retryDelay = new CancellableDelay()
  #end: ((end: TerminalConnectionEnd) => void) | null = null
  /** The offset of the next byte to receive; null before anything was drawn. */
  #nextOffset: number | null = null
  #acknowledged = 0
  /** The offset up to which the display shows what this connection received. */
  #drawn = 0
  #announcedSize: TerminalSize | null = null
  #liveSince: number | null = null
  /** Input from before the screen was drawn; null afterwards. */
  #bufferedInput: Uint8Array[] | null = []
  #bufferedBytes = 0

  constructor(project: ProjectId, display: TerminalDisplay, observer: TerminalObserver, environment: TerminalEnvironment = BROWSER) {
    this.#project = project
    this.#display = display
    this.#observer = observer
    this.#environment = environment
  }

  /** Attaches to the terminal and stays attached until `detach` or a final state. */
  async attach(mode: AttachMode): Promise<void> {
    this.detach()
    const generation = ++this.#generation
    this.#nextOffset = null
    const { now, random } = this.#environment
    let [failures, lostSince]: [number, number | null] = [0, null]
    while (generation === this.#generation) {
      this.#setState({ kind: 'connecting', lostSince })
      const end = await this.#attachOnce(mode)
      if (generation !== this.#generation) return
      const { liveSince } = this.#reset()
      if (end.kind === 'final') return this.#setState(end.state)
      if (liveSince !== null && now() - liveSince >= STABLE_MS) failures = 0
      if (liveSince !== null) lostSince = null
      // A reconnect must not start another shell.
      if (this.#nextOffset !== null) mode = 'view'
      lostSince ??= now()
      const delay = backoffDelay(failures++, random)
      this.#setState({ kind: 'lost', since: lostSince, retryAt: now() + delay, reason: end.reason })
      await this.#retryDelay.wait(delay)
    }
  }

  /** Disconnects. The terminal keeps running. */
  detach(): void {
    this.#generation++
    this.#retryDelay.cancel()
    this.#end?.({ kind: 'lost', reason: 'detached' })
    this.#reset()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#retryDelay.cancel()
  }

  /** Treats an open connection as lost: the daemon is known to be unreachable. */
  dropConnection(reason: string): void {
    if (this.#socket !== null) this.#end?.({ kind: 'lost', reason })
  }

  /** Sends input; false if there is no connection to send it to. */
  sendInput(keys: Uint8Array): boolean {
    if (this.#bufferedInput !== null) {
      if (this.#socket === null || this.#bufferedBytes + keys.length > INPUT_BUFFER_LIMIT) return false
      this.#bufferedInput.push(keys)
      this.#bufferedBytes += keys.length
      return true
    }
    if (this.#socket?.readyState !== OPEN) return false
    // A large paste needs several frames.
    for (let at = 0; at < keys.length; at += MAX_TERMINAL_INPUT_BYTES) this.#send(encodeInput(keys.subarray(at, at + MAX_TERMINAL_INPUT_BYTES)))
    return true
  }

  /** Announces the size of the window. */
  resize({ cols, rows }: TerminalSize): void {
    if (this.#announcedSize?.cols === cols && this.#announcedSize.rows === rows) return
    this.#announcedSize = { cols, rows }
    this.#send(encodeResize({ cols, rows }))
  }

  /** Announces the size again, so that this window determines it. */
  claimSize(size: TerminalSize): void {
    this.#announcedSize = null
    this.resize(size)
  }

  #setState(state: TerminalConnectionState): void {
    this.#observer.state(state)
  }

  #send(frame: ArrayBuffer): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(frame)
  }

  #reset(): { readonly liveSince: number | null } {
    const liveSince = this.#liveSince
    this.#socket?.close()
    this.#socket = null
    this.#end = null
    this.#liveSince = null
    this.#drawn = 0
    this.#bufferedInput = []
    this.#bufferedBytes = 0
    return { liveSince }
  }

  async #attachOnce(mode: AttachMode): Promise<TerminalConnectionEnd> {
    const generation = this.#generation
    const result = await this.#environment.ticket(this.#project)
    if (generation !== this.#generation) return { kind: 'lost', reason: 'detached' }
    switch (result.kind) {
      case 'loggedOut':
        return { kind: 'final', state: result }
      case 'refused':
        return { kind: 'final', state: { kind: 'refused', reason: result.problem.error, code: result.problem.code } }
      case 'unreachable':
        return { kind: 'lost', reason: result.reason }
      case 'ok':
        return this.#connect(result.value.ticket, mode)
    }
  }

  #connect(ticket: string, mode: AttachMode): Promise<TerminalConnectionEnd> {
    const { cols, rows } = this.#display.size()
    this.#announcedSize = { cols, rows }
    const query = new URLSearchParams({ cols: String(cols), rows: String(rows), ticket })
    if (this.#nextOffset !== null) query.set('after', String(this.#nextOffset))
    else if (mode === 'view') query.set('after', VIEW_OFFSET)
    const socket = this.#environment.socket(`/api/projects/${encodeURIComponent(this.#project)}/terminal/attach?${query.toString()}`)
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    return this.#receive(socket)
  }

  /** Handles messages until the connection ends. */
  async #receive(socket: WebSocket): Promise<TerminalConnectionEnd> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = await new Promise<TerminalConnectionEnd>((resolve) => {
      const setTimeoutFor = (ms: number, reason: string): void => {
        clearTimeout(timer)
        timer = setTimeout(() => resolve({ kind: 'lost', reason }), ms)
      }
      let announcedEnd: TerminalConnectionEnd | null = null
      this.#end = resolve
      setTimeoutFor(CONNECT_TIMEOUT_MS, 'the connection timed out')
      socket.onopen = () => setTimeoutFor(FIRST_MESSAGE_TIMEOUT_MS, 'the terminal did not respond in time')
      socket.onclose = () => resolve(announcedEnd ?? { kind: 'lost', reason: this.#liveSince === null ? 'the connection was not accepted' : 'the connection was lost' })
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (this.#socket !== socket) return
        setTimeoutFor(SILENCE_TIMEOUT_MS, 'no data was received for 45 s')
        try {
          if (typeof data === 'string') throw new Error('received a text message')
          for (const frame of parseMessage(data)) announcedEnd = this.#handleFrame(frame) ?? announcedEnd
        } catch (error) {
          resolve({ kind: 'lost', reason: error instanceof Error ? error.message : 'received an invalid message' })
        }
      }
    })
    clearTimeout(timer)
    return end
  }

  /** Handles a frame; returns how the connection ends if the frame announces it. */
  #handleFrame(frame: OutputFrame): TerminalConnectionEnd | null {
    switch (frame.kind) {
      case 'data':
        this.#handleOutput(frame.offset, frame.bytes)
        return null
      case 'snapshot': {
        const socket = this.#socket
        this.#nextOffset = frame.offset
        this.#acknowledged = frame.offset
        this.#display.snapshot(frame.size, frame.bytes, () => this.#markDrawn(socket, frame.offset))
        return null
      }
      case 'resize':
        this.#display.resize(frame.size)
        // After a reconnect this is the first frame: what was drawn before is still valid.
        if (this.#nextOffset !== null) this.#markLive(this.#socket)
        return null
      case 'title':
        this.#display.title(frame.title)
        return null
      case 'bell':
        this.#display.bell()
        return null
      case 'ping':
        this.#send(encodeAck(this.#drawn))
        return null
      case 'exit':
        return { kind: 'final', state: { kind: 'ended', exitCode: frame.exitCode, signal: frame.signal } }
      case 'error':
        return this.#handleError(frame.code, frame.message)
    }
  }

  #handleError(code: Code, message: string): TerminalConnectionEnd {
    switch (code) {
      case 'UNAVAILABLE':
        return { kind: 'lost', reason: message }
      case 'UNAUTHENTICATED':
        return { kind: 'final', state: { kind: 'loggedOut' } }
      case 'CONFLICT':
        // Too much input; the terminal itself is unaffected.
        this.#observer.note(message)
        return { kind: 'lost', reason: message }
      default:
        return { kind: 'final', state: { kind: 'refused', reason: message, code } }
    }
  }

  #handleOutput(offset: number, bytes: Uint8Array): void {
    const socket = this.#socket
    const expected = this.#nextOffset ?? offset
    const end = offset + bytes.length
    if (offset > expected) {
      // Do not draw over a gap: the next attempt begins with a snapshot.
      this.#nextOffset = null
      throw new Error('a part of the output is missing')
    }
    if (end <= expected) return
    this.#nextOffset = end
    this.#display.output(bytes.subarray(expected - offset), () => {
      this.#markDrawn(socket, end)
      this.#acknowledge(end)
    })
  }

  #markDrawn(socket: WebSocket | null, offset: number): void {
    if (this.#socket === socket) this.#drawn = offset
    this.#markLive(socket)
  }

  #acknowledge(offset: number): void {
    if (offset - this.#acknowledged < TERMINAL_ACK_BYTES) return
    this.#acknowledged = offset
    this.#send(encodeAck(offset))
  }

  /** The display shows what the terminal shows: sends the buffered input. */
  #markLive(socket: WebSocket | null): void {
    // A late callback may belong to a connection that has ended.
    if (this.#liveSince !== null || socket === null || this.#socket !== socket) return
    this.#liveSince = this.#environment.now()
    const buffered = this.#bufferedInput ?? []
    this.#bufferedInput = null
    this.#bufferedBytes = 0
    for (const keys of buffered) this.sendInput(keys)
    this.#setState({ kind: 'live', since: this.#liveSince })
  }
}
