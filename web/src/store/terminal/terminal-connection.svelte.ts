/** The connection to a terminal as reactive state: what a pane shows and what it can do. */
import type { ProjectId, TerminalSize } from '../../proto/index.ts'
import { TerminalSocket, type AttachMode, type TerminalConnectionState, type TerminalDisplay } from '../../net/index.ts'

const ENCODER = new TextEncoder()
const INPUT_DROPPED = 'Input is ignored: the terminal is not connected.'

/** See the head of this file. */
export class TerminalConnection {
  #state = $state.raw<TerminalConnectionState>({ kind: 'idle' })
  #title = $state('')
  #size = $state.raw<TerminalSize | null>(null)
  #note = $state<string | null>(null)
  #bells = $state(0)
  readonly #socket: TerminalSocket

  constructor(project: ProjectId, display: TerminalDisplay, onLoggedOut: () => void) {
    const observed: TerminalDisplay = {
      size: () => display.size(),
      output: (bytes, parsed) => display.output(bytes, parsed),
      snapshot: (size, bytes, parsed) => {
        this.#size = size
        display.snapshot(size, bytes, parsed)
      },
      resize: (size) => {
        this.#size = size
        display.resize(size)
      },
      title: (text) => {
        this.#title = text
        display.title(text)
      },
      bell: () => {
        this.#bells++
        display.bell()
      },
    }
    this.#socket = new TerminalSocket(project, observed, {
      state: (state) => {
        this.#state = state
        // Other notes stay until the next input.
        if (state.kind === 'live' && this.#note === INPUT_DROPPED) this.#note = null
        if (state.kind === 'loggedOut') onLoggedOut()
      },
      note: (text) => (this.#note = text),
    })
  }

  /** The state of the connection. */
  get state(): TerminalConnectionState {
    return this.#state
  }

  /** The window title, as set by programs. */
  get title(): string {
    return this.#title
  }

  /** The size of the terminal, which another window may have set. */
  get size(): TerminalSize | null {
    return this.#size
  }

  /** A problem that did not end the connection, or null. */
  get note(): string | null {
    return this.#note
  }

  /** How often the bell rang. */
  get bells(): number {
    return this.#bells
  }

  /** Attaches to the terminal. */
  attach(mode: AttachMode): void {
    this.#note = null
    void this.#socket.attach(mode)
  }

  /** Sends input. */
  sendInput(keys: string | Uint8Array): void {
    const sent = this.#socket.sendInput(typeof keys === 'string' ? ENCODER.encode(keys) : keys)
    this.#note = sent ? null : INPUT_DROPPED
  }

  /** Announces the size of the window. */
  resize(size: TerminalSize): void {
    this.#socket.resize(size)
  }

  /** Makes the terminal fit this window. */
  claimSize(size: TerminalSize): void {
    this.#socket.claimSize(size)
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#socket.retryNow()
  }

  /** Treats the connection as lost: the daemon is known to be unreachable. */
  dropConnection(): void {
    this.#socket.dropConnection('the daemon does not respond')
  }

  /** Disconnects; the terminal keeps running. */
  detach(): void {
    this.#socket.detach()
  }
}
