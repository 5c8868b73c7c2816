/** A seat at a terminal as state: what a pane shows of it, and what a person can do. */
import type { ProjectId, TerminalSize } from '../../proto/index.ts'
import { TerminalSocket, type TerminalConnectionState, type TerminalDisplay, type AttachMode } from '../../net/index.ts'

const ENCODER = new TextEncoder()
const NOWHERE = 'What you type now goes nowhere: the terminal is not connected.'

/** See the head of this file. */
export class Session {
  #state = $state.raw<TerminalConnectionState>({ kind: 'idle' })
  #title = $state('')
  #size = $state.raw<TerminalSize | null>(null)
  #note = $state<string | null>(null)
  #bells = $state(0)
  readonly #socket: TerminalSocket

  constructor(project: ProjectId, display: TerminalDisplay, loggedOut: () => void) {
    const shown: TerminalDisplay = {
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
    this.#socket = new TerminalSocket(project, shown, {
      state: (state) => {
        this.#state = state
        // Other notes stay until something is typed again.
        if (state.kind === 'live' && this.#note === NOWHERE) this.#note = null
        if (state.kind === 'loggedOut') loggedOut()
      },
      note: (text) => (this.#note = text),
    })
  }

  /** How it stands. */
  get state(): TerminalConnectionState {
    return this.#state
  }

  /** The title of the window, as programs set it. */
  get title(): string {
    return this.#title
  }

  /** The size of the terminal, which another window may have set. */
  get size(): TerminalSize | null {
    return this.#size
  }

  /** What went wrong though it goes on. */
  get note(): string | null {
    return this.#note
  }

  /** How often the bell rang. */
  get bells(): number {
    return this.#bells
  }

  /** Goes there; `open` starts a shell if there is none, `look` does not. */
  sit(how: AttachMode): void {
    this.#note = null
    void this.#socket.attach(how)
  }

  /** Types a text, or bytes. */
  type(keys: string | Uint8Array): void {
    const sent = this.#socket.sendInput(typeof keys === 'string' ? ENCODER.encode(keys) : keys)
    this.#note = sent ? null : NOWHERE
  }

  /** The window has this size now. */
  resize(size: TerminalSize): void {
    this.#socket.resize(size)
  }

  /** Makes the terminal fit this window. */
  claim(size: TerminalSize): void {
    this.#socket.claimSize(size)
  }

  /** Ends the wait for the next attempt. */
  retryNow(): void {
    this.#socket.retryNow()
  }

  /** The daemon is known to be away. */
  suspect(): void {
    this.#socket.dropConnection('the daemon does not respond')
  }

  /** Goes away; the terminal goes on. */
  leave(): void {
    this.#socket.detach()
  }
}
