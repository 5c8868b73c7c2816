/** The verification of the log's hash chain, which the daemon does on request. */
import type { AuditReport } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'

/** The state of the verification. */
export type VerificationState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly report: AuditReport }
  | { readonly kind: 'failed'; readonly reason: string }

const TIMEOUT_MS = 120_000

/** See the head of this file. */
export class LogVerification {
  #state = $state.raw<VerificationState>({ kind: 'none' })
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The current state. */
  get state(): VerificationState {
    return this.#state
  }

  /** Asks the daemon to verify the whole log. */
  async verify(): Promise<void> {
    if (this.#state.kind === 'running') return
    this.#state = { kind: 'running' }
    const result = await sendRequest<AuditReport>({ method: 'GET', path: '/api/audit/verify', timeoutMs: TIMEOUT_MS })
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'done', report: result.value }
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
  dismiss(): void {
    if (this.#state.kind !== 'running') this.#state = { kind: 'none' }
  }
}
