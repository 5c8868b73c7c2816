/** What the rules would say of an action that nobody asks for. */
import type { ExplainPolicyRequest, PolicyExplanation, ProjectId } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { projectPath } from '../commands/command.ts'

/** How the question to the rules stands. */
export type ExplainState =
  | { readonly kind: 'none' }
  | { readonly kind: 'asking' }
  | { readonly kind: 'here'; readonly explanation: PolicyExplanation }
  | { readonly kind: 'failed'; readonly reason: string }

/** See the head of this file. */
export class Explainer {
  #state = $state.raw<ExplainState>({ kind: 'none' })
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** How it stands. */
  get state(): ExplainState {
    return this.#state
  }

  /** Asks the daemon. */
  async ask(project: ProjectId, body: ExplainPolicyRequest): Promise<void> {
    if (this.#state.kind === 'asking') return
    this.#state = { kind: 'asking' }
    const result = await sendRequest<PolicyExplanation>({ method: 'POST', path: `${projectPath(project)}/policy/explain`, body })
    switch (result.kind) {
      case 'ok':
        this.#state = { kind: 'here', explanation: result.value }
        return
      case 'refused':
        this.#state = { kind: 'failed', reason: result.problem.error }
        return
      case 'unreachable':
        this.#state = { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.` }
        return
      case 'loggedOut':
        this.#state = { kind: 'none' }
        this.#loggedOut()
    }
  }

  /** Puts the answer away. */
  clear(): void {
    if (this.#state.kind !== 'asking') this.#state = { kind: 'none' }
  }
}
