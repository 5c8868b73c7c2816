/** The verification of the log's hash chain, which the daemon does on request. */
import type { AuditReport } from '../../proto/index.ts'
import { OneShotRequest, type RequestState } from '../resource/one-shot-request.svelte.ts'

/** A long log takes a while to verify. */
const TIMEOUT_MS = 120_000

/** See the head of this file. */
export class LogVerification {
  readonly #request: OneShotRequest<AuditReport>

  constructor(onLoggedOut: () => void) {
    this.#request = new OneShotRequest(onLoggedOut)
  }

  /** The current state. */
  get state(): RequestState<AuditReport> {
    return this.#request.state
  }

  /** Asks the daemon to verify the whole log. */
  async verify(): Promise<void> {
    await this.#request.send({ method: 'GET', path: '/api/audit/verify', timeoutMs: TIMEOUT_MS })
  }

  /** Removes the result. */
  dismiss(): void {
    this.#request.clear()
  }
}
