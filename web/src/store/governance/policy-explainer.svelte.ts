/** Asks the daemon what the rules would decide about an action, without running it. */
import type { ExplainPolicyRequest, PolicyExplanation, ProjectId } from '../../proto/index.ts'
import { projectPath } from '../commands/command.ts'
import { OneShotRequest, type RequestState } from '../resource/one-shot-request.svelte.ts'

/** See the head of this file. */
export class PolicyExplainer {
  readonly #request: OneShotRequest<PolicyExplanation>

  constructor(onLoggedOut: () => void) {
    this.#request = new OneShotRequest(onLoggedOut)
  }

  /** The current state. */
  get state(): RequestState<PolicyExplanation> {
    return this.#request.state
  }

  /** Requests an explanation. */
  async explain(project: ProjectId, body: ExplainPolicyRequest): Promise<void> {
    await this.#request.send({ method: 'POST', path: `${projectPath(project)}/policy/explain`, body })
  }

  /** Removes the explanation. */
  clear(): void {
    this.#request.clear()
  }
}
