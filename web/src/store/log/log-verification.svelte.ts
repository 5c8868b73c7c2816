/** The last check of the log's hash chain, which the daemon does when asked. */
import type { AuditReport } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'

/** How the check stands. */
export type Check =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly report: AuditReport }
  | { readonly kind: 'failed'; readonly reason: string }

const TIMEOUT_MS = 120_000

/** See the head of this file. */
export class Audit {
  #check = $state.raw<Check>({ kind: 'none' })
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** How the check stands. */
  get check(): Check {
    return this.#check
  }

  /** Has the daemon walk the whole log. */
  async verify(): Promise<void> {
    if (this.#check.kind === 'running') return
    this.#check = { kind: 'running' }
    const result = await sendRequest<AuditReport>({ method: 'GET', path: '/api/audit/verify', timeoutMs: TIMEOUT_MS })
    switch (result.kind) {
      case 'ok':
        this.#check = { kind: 'done', report: result.value }
        return
      case 'refused':
        this.#check = { kind: 'failed', reason: result.problem.error }
        return
      case 'unreachable':
        this.#check = { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.` }
        return
      case 'loggedOut':
        this.#check = { kind: 'none' }
        this.#loggedOut()
    }
  }

  /** Puts the result away. */
  dismiss(): void {
    if (this.#check.kind !== 'running') this.#check = { kind: 'none' }
  }
}
