/** Asks the daemon what the rules would decide about an action, without running it. */
import type { ExplainPolicyRequest, PolicyExplanation, ProjectId } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { projectPath } from '../commands/command.ts'

/** The state of the explanation. */
export type ExplanationState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly explanation: PolicyExplanation }
  | { readonly kind: 'failed'; readonly reason: string }

/** See the head of this file. */
export class PolicyExplainer {
  #state = $state.raw<ExplanationState>({ kind: 'none' })
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The current state. */
  get state(): ExplanationState {
    return this.#state
  }

  /** Requests an explanation. */
  async explain(project: ProjectId, body: ExplainPolicyRequest): Promise<void> {
    if (this.#state.kind === 'loading') return
    this.#state = { kind: 'loading' }
    const result = await sendRequest<PolicyExplanation>({ method: 'POST', path: `${projectPath(project)}/policy/explain`, body })
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'loaded', explanation: result.value }
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

  /** Removes the explanation. */
  clear(): void {
    if (this.#state.kind !== 'loading') this.#state = { kind: 'none' }
  }
}
