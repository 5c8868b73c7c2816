/**
 * A seat at a project's terminal, and the way back to it.
 *
 * It owns the WebSocket: a ticket for each connection, the place in the output
 * up to which everything was received, acknowledgments, and the waits between
 * attempts. What it does not do is draw: bytes go to the display, in order and
 * none twice. It never says `live` before the terminal itself has said something,
 * and it does not ask again where the answer was no.
 */
import type { Code, ProjectId, ClientMessage, ServerMessage } from '../../proto/index.ts'
import { BROWSER, type Attachment, type Display, type Size, type Surroundings, type Watcher } from './types.ts'
import { backoff } from '../retry/backoff.ts'
import { frameOf, sayingOf } from './frames.ts'
import { Nap } from '../retry/cancellable-delay.ts'

/** Further than anything was printed: what it looks like now, and no new shell if it has ended. */
const LOOK = '18446744073709551615'
/** As a socket says that it is open. */
const OPEN = 1
const CONNECT_MS = 10_000
/** A shell may take its time to start. */
const FIRST_MS = 40_000
/** The daemon asks every 20 s whether we are there. */
const SILENCE_MS = 45_000
const STEADY_MS = 2_000
/** Acknowledged in steps of this many bytes: an eighth of what may be under way. */
const ACK_STEP = 64 * 1024
/** The most that is typed with one message; a paste may have more. */
const PIECE = 64 * 1024
/** What may be typed while the screen is not drawn yet. */
const HELD_LIMIT = 64 * 1024

type End =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'over'; readonly state: Attachment }

/** See the head of this file. */
export class Seat {
  readonly #project: ProjectId
  readonly #display: Display
  readonly #watcher: Watcher
  readonly #world: Surroundings
  #socket: WebSocket | null = null
  #turn = 0
  readonly #nap = new Nap()
  #end: ((end: End) => void) | null = null
  /** The next byte to be received; null if nothing was drawn yet. */
  #next: number | null = null
  #acknowledged = 0
  #announced: Size | null = null
  #liveSince: number | null = null
  /** What was typed before the screen was drawn; null when it is. */
  #held: Uint8Array[] | null = []
  #heldBytes = 0

  constructor(project: ProjectId, display: Display, watcher: Watcher, world: Surroundings = BROWSER) {
    this.#project = project
    this.#display = display
    this.#watcher = watcher
    this.#world = world
  }

  /** Goes there; `open` starts a shell if there is none, `look` does not. */
  async sit(how: 'open' | 'look'): Promise<void> {
    this.leave()
    const turn = ++this.#turn
    this.#next = null
    const { now, random } = this.#world
    let [failures, lostSince]: [number, number | null] = [0, null]
    while (turn === this.#turn) {
      this.#say({ kind: 'connecting', lostSince })
      const end = await this.#once(how)
      if (turn !== this.#turn) return
      const { liveSince } = this.#reset()
      if (end.kind === 'over') return this.#say(end.state)
      if (liveSince !== null && now() - liveSince >= STEADY_MS) failures = 0
      if (liveSince !== null) lostSince = null
      // Whoever was there comes back to what is there.
      if (this.#next !== null) how = 'look'
      lostSince ??= now()
      const wait = backoff(failures++, random)
      this.#say({ kind: 'lost', since: lostSince, retryAt: now() + wait, reason: end.reason })
      await this.#nap.take(wait)
    }
  }

  /** Goes away. The terminal goes on. */
  leave(): void {
    this.#turn++
    this.#nap.wake()
    this.#end?.({ kind: 'lost', reason: 'left' })
    this.#reset()
  }

  /** Ends the wait, if it is waiting. */
  retryNow(): void {
    this.#nap.wake()
  }

  /** The daemon is known to be away: a connection to it is none, whatever it looks like. */
  suspect(reason: string): void {
    if (this.#socket !== null) this.#end?.({ kind: 'lost', reason })
  }

  /** Types. What is typed while nobody is there goes nowhere; the answer says whether it did. */
  type(keys: Uint8Array): boolean {
    if (this.#held !== null) {
      if (this.#socket === null || this.#heldBytes + keys.length > HELD_LIMIT) return false
      this.#held.push(keys)
      this.#heldBytes += keys.length
      return true
    }
    if (this.#socket?.readyState !== OPEN) return false
    for (let at = 0; at < keys.length; at += PIECE) this.#socket.send(keys.slice(at, at + PIECE))
    return true
  }

  /** Says how large the window is now. */
  resize({ cols, rows }: Size): void {
    if (this.#announced?.cols === cols && this.#announced.rows === rows) return
    this.#announced = { cols, rows }
    this.#hear({ type: 'resize', cols, rows })
  }

  /** Says it again, so that this window sets the size. */
  claim(size: Size): void {
    this.#announced = null
    this.resize(size)
  }

  #say(state: Attachment): void {
    this.#watcher.state(state)
  }

  #hear(message: ClientMessage): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(message))
  }

  #reset(): { readonly liveSince: number | null } {
    const liveSince = this.#liveSince
    this.#socket?.close()
    this.#socket = null
    this.#end = null
    this.#liveSince = null
    this.#held = []
    this.#heldBytes = 0
    return { liveSince }
  }

  async #once(how: 'open' | 'look'): Promise<End> {
    const turn = this.#turn
    const answer = await this.#world.ticket(this.#project)
    if (turn !== this.#turn) return { kind: 'lost', reason: 'left' }
    switch (answer.kind) {
      case 'loggedOut':
        return { kind: 'over', state: answer }
      case 'refused':
        return { kind: 'over', state: { kind: 'refused', reason: answer.problem.error, code: answer.problem.code } }
      case 'unreachable':
        return { kind: 'lost', reason: answer.reason }
      case 'ok':
        return this.#connect(answer.value.ticket, how)
    }
  }

  #connect(ticket: string, how: 'open' | 'look'): Promise<End> {
    const { cols, rows } = this.#display.size()
    this.#announced = { cols, rows }
    const query = new URLSearchParams({ cols: String(cols), rows: String(rows), ticket })
    if (this.#next !== null) query.set('after', String(this.#next))
    else if (how === 'look') query.set('after', LOOK)
    const socket = this.#world.socket(`/api/projects/${encodeURIComponent(this.#project)}/terminal/attach?${query.toString()}`)
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    return this.#listen(socket)
  }

  /** Listens until it is over, one way or the other. */
  async #listen(socket: WebSocket): Promise<End> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = await new Promise<End>((resolve) => {
      const within = (ms: number, reason: string): void => {
        clearTimeout(timer)
        timer = setTimeout(() => resolve({ kind: 'lost', reason }), ms)
      }
      let snapshot: Size | null = null
      let over: End | null = null
      this.#end = resolve
      within(CONNECT_MS, 'it did not answer in time')
      socket.onopen = () => within(FIRST_MS, 'the terminal did not answer in time')
      socket.onclose = () => resolve(over ?? { kind: 'lost', reason: this.#liveSince === null ? 'the connection was not accepted' : 'the connection broke' })
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (this.#socket !== socket) return
        within(SILENCE_MS, 'it has been silent for 45 s')
        try {
          if (typeof data === 'string') {
            const said = sayingOf(data)
            if (said.type === 'snapshot') snapshot = said
            else over = this.#obey(said) ?? over
          } else {
            this.#draw(data, snapshot)
            snapshot = null
          }
        } catch (error) {
          resolve({ kind: 'lost', reason: error instanceof Error ? error.message : 'it sent nonsense' })
        }
      }
    })
    clearTimeout(timer)
    return end
  }

  /** Does what the terminal says; what that means for the end, if anything. */
  #obey(said: Exclude<ServerMessage, { type: 'snapshot' }>): End | null {
    switch (said.type) {
      case 'resize':
        this.#display.resize(said)
        // Coming back, it is the first that is said: all that was drawn stands.
        if (this.#next !== null) this.#isLive(this.#socket)
        return null
      case 'title':
        this.#display.title(said.title)
        return null
      case 'bell':
        this.#display.bell()
        return null
      case 'ping':
        this.#hear({ type: 'pong' })
        return null
      case 'exit':
        return { kind: 'over', state: { kind: 'ended', exitCode: said.exitCode, signal: said.signal } }
      case 'error':
        return this.#wrong(said.code, said.message)
    }
  }

  #wrong(code: Code, message: string): End {
    switch (code) {
      case 'UNAVAILABLE':
        return { kind: 'lost', reason: message }
      case 'UNAUTHENTICATED':
        return { kind: 'over', state: { kind: 'loggedOut' } }
      case 'CONFLICT':
        // What was typed was too much; the terminal is as it was.
        this.#watcher.note(message)
        return { kind: 'lost', reason: message }
      default:
        return { kind: 'over', state: { kind: 'refused', reason: message, code } }
    }
  }

  #draw(data: ArrayBuffer, snapshot: Size | null): void {
    const { offset, bytes } = frameOf(data)
    const socket = this.#socket
    if (snapshot !== null) {
      this.#next = offset
      this.#acknowledged = offset
      this.#display.snapshot(snapshot, bytes, () => this.#isLive(socket))
      return
    }
    const expected = this.#next ?? offset
    const end = offset + bytes.length
    if (offset > expected) {
      // A hole is not drawn over: the next attempt begins with a snapshot.
      this.#next = null
      throw new Error('some of its output is missing')
    }
    if (end <= expected) return
    this.#next = end
    this.#display.output(bytes.subarray(expected - offset), () => {
      this.#isLive(socket)
      this.#acknowledge(end)
    })
  }

  #acknowledge(offset: number): void {
    if (offset - this.#acknowledged < ACK_STEP) return
    this.#acknowledged = offset
    this.#hear({ type: 'ack', offset })
  }

  /** What stands on the screen is what the terminal shows: now keys may go there. */
  #isLive(socket: WebSocket | null): void {
    // What was drawn late is of a connection that is over.
    if (this.#liveSince !== null || socket === null || this.#socket !== socket) return
    this.#liveSince = this.#world.now()
    const held = this.#held ?? []
    this.#held = null
    this.#heldBytes = 0
    for (const keys of held) this.type(keys)
    this.#say({ kind: 'live', since: this.#liveSince })
  }
}
