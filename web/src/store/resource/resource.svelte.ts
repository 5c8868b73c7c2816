/**
 * A value that is fetched from the daemon, because the log only says that it
 * changed. The last value stays until the next one has arrived.
 */
import { sendRequest } from '../../net/index.ts'

/** The state of a resource. */
export type ResourceState<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading'; readonly before: T | null }
  | { readonly kind: 'loaded'; readonly value: T }
  | { readonly kind: 'failed'; readonly reason: string; readonly before: T | null }

/** The last value that was loaded, or null. */
export function latestValue<T>(state: ResourceState<T>): T | null {
  if (state.kind === 'none') return null
  return state.kind === 'loaded' ? state.value : state.before
}

/** See the head of this file. */
export class Resource<T> {
  #state = $state.raw<ResourceState<T>>({ kind: 'none' })
  #path: string | null = null
  /** Incremented by each load: only the result of the latest one counts. */
  #generation = 0
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The current state. */
  get state(): ResourceState<T> {
    return this.#state
  }

  /** Loads from an API path; null unloads. */
  async load(path: string | null): Promise<void> {
    const generation = ++this.#generation
    const before = path === this.#path ? latestValue(this.#state) : null
    this.#path = path
    if (path === null) {
      this.#state = { kind: 'none' }
      return
    }
    this.#state = { kind: 'loading', before }
    const result = await sendRequest<T>({ method: 'GET', path })
    if (generation !== this.#generation) return
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'loaded', value: result.value }
        return
      case 'refused':
        this.#state = { kind: 'failed', reason: result.problem.error, before }
        return
      case 'unreachable':
        this.#state = { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.`, before }
        return
      case 'loggedOut':
        this.#state = { kind: 'none' }
        this.#onLoggedOut()
    }
  }
}
