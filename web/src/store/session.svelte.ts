/** A seat at a terminal as state: what a pane shows of it, and what a person can do. */
import type { ProjectId } from '../proto/index.ts'
import { Seat, type Attachment, type Display, type Size } from '../net/index.ts'

const ENCODER = new TextEncoder()
const NOWHERE = 'What you type now goes nowhere: the terminal is not connected.'

/** See the head of this file. */
export class Session {
  #state = $state.raw<Attachment>({ kind: 'idle' })
  #title = $state('')
  #size = $state.raw<Size | null>(null)
  #note = $state<string | null>(null)
  #bells = $state(0)
  readonly #seat: Seat

  constructor(project: ProjectId, display: Display, loggedOut: () => void) {
    const shown: Display = {
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
    this.#seat = new Seat(project, shown, {
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
  get state(): Attachment {
    return this.#state
  }

  /** The title of the window, as programs set it. */
  get title(): string {
    return this.#title
  }

  /** The size of the terminal, which another window may have set. */
  get size(): Size | null {
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
  sit(how: 'open' | 'look'): void {
    this.#note = null
    void this.#seat.sit(how)
  }

  /** Types a text, or bytes. */
  type(keys: string | Uint8Array): void {
    const sent = this.#seat.type(typeof keys === 'string' ? ENCODER.encode(keys) : keys)
    this.#note = sent ? null : NOWHERE
  }

  /** The window has this size now. */
  resize(size: Size): void {
    this.#seat.resize(size)
  }

  /** Makes the terminal fit this window. */
  claim(size: Size): void {
    this.#seat.claim(size)
  }

  /** Ends the wait for the next attempt. */
  retryNow(): void {
    this.#seat.retryNow()
  }

  /** The daemon is known to be away. */
  suspect(): void {
    this.#seat.suspect('the daemon does not answer')
  }

  /** Goes away; the terminal goes on. */
  leave(): void {
    this.#seat.leave()
  }
}
