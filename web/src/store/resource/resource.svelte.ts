/**
 * Something that is read from the daemon, because the log only says that it
 * changed. What was read last stays until the next is there.
 */
import { sendRequest } from '../../net/index.ts'

/** How the reading stands. */
export type ReadState<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'reading'; readonly before: T | null }
  | { readonly kind: 'here'; readonly value: T }
  | { readonly kind: 'failed'; readonly reason: string; readonly before: T | null }

/** The last good value of a reading. */
export function lastOf<T>(state: ReadState<T>): T | null {
  if (state.kind === 'none') return null
  return state.kind === 'here' ? state.value : state.before
}

/** See the head of this file. */
export class Reading<T> {
  #state = $state.raw<ReadState<T>>({ kind: 'none' })
  #path: string | null = null
  #turn = 0
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** How it stands. */
  get state(): ReadState<T> {
    return this.#state
  }

  /** Reads from a path; null reads nothing. Of several readings under way only the last counts. */
  async read(path: string | null): Promise<void> {
    const turn = ++this.#turn
    const before = path === this.#path ? lastOf(this.#state) : null
    this.#path = path
    if (path === null) {
      this.#state = { kind: 'none' }
      return
    }
    this.#state = { kind: 'reading', before }
    const result = await sendRequest<T>({ method: 'GET', path })
    if (turn !== this.#turn) return
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'here', value: result.value }
        return
      case 'refused':
        this.#state = { kind: 'failed', reason: result.problem.error, before }
        return
      case 'unreachable':
        this.#state = { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.`, before }
        return
      case 'loggedOut':
        this.#state = { kind: 'none' }
        this.#loggedOut()
    }
  }
}
