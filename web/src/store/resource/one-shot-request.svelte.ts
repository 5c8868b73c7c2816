/** A request that a person makes: at most one at a time, and its result stays until it is cleared. */
import { sendRequest, type ApiRequest } from '../../net/index.ts'

/** The state of the request. */
export type RequestState<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly value: T }
  | { readonly kind: 'failed'; readonly reason: string }

/** See the head of this file. */
export class OneShotRequest<T> {
  #state = $state.raw<RequestState<T>>({ kind: 'none' })
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The current state. */
  get state(): RequestState<T> {
    return this.#state
  }

  /** Sends the request, unless one is waiting for its response. */
  async send(request: ApiRequest): Promise<void> {
    if (this.#state.kind === 'loading') return
    this.#state = { kind: 'loading' }
    const result = await sendRequest<T>(request)
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'loaded', value: result.value }
        return
      case 'refused':
        this.#state = { kind: 'failed', reason: result.problem.error }
        return
      case 'unreachable':
        this.#state = { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.` }
        return
      case 'loggedOut':
        this.#state = { kind: 'none' }
        this.#onLoggedOut()
    }
  }

  /** Removes the result. */
  clear(): void {
    if (this.#state.kind !== 'loading') this.#state = { kind: 'none' }
  }
}
