/**
 * Modes, grants, roles and rules of the projects, and the commands for them.
 *
 * Modes and grants are documents. Roles and rules are files: a document says when they
 * changed, and then they are fetched.
 */
import { formatCursor, type Grant, type PolicyView, type ProjectId, type ProjectMode, type RoleList, type RoleView, type TrustFileRequest } from '../../proto/index.ts'
import { projectPath, type Command } from '../commands/command.ts'
import type { CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { DocumentFollower } from '../documents/document-follower.svelte.ts'
import { NIL_KEY } from '../documents/views.ts'
import type { PageName } from '../navigation/route.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { Resource } from '../resource/resource.svelte.ts'
import { selectGrants } from './grants.ts'
import { modeAt, type CurrentMode } from './modes.ts'
import { PolicyExplainer } from './policy-explainer.svelte.ts'

/** The parts of the store that this one needs. */
export type GovernanceStoreDeps = {
  readonly documents: DocumentFollower
  readonly commands: CommandTracker
  readonly notices: Notices
}

/** See the head of this file. */
export class GovernanceStore {
  readonly #deps: GovernanceStoreDeps
  readonly roles: Resource<RoleList>
  readonly policy: Resource<PolicyView>
  readonly explainer: PolicyExplainer

  constructor(deps: GovernanceStoreDeps) {
    this.#deps = deps
    const onLoggedOut = (): void => deps.documents.setLoggedOut()
    this.roles = new Resource(onLoggedOut)
    this.policy = new Resource(onLoggedOut)
    this.explainer = new PolicyExplainer(onLoggedOut)
  }

  /** The mode of a project at a time in milliseconds. */
  modeOf(project: ProjectId, now: number): CurrentMode {
    return modeAt(this.#deps.documents.views.modes, project, now)
  }

  /** The grants of a project, the latest first. */
  selectGrants(project: ProjectId): readonly Grant[] {
    return selectGrants(this.#deps.documents.views.grants, project)
  }

  /** Sets the mode of a project. Returns why it failed, or null. */
  async setMode(project: ProjectId, mode: ProjectMode, minutes: number | null = null): Promise<string | null> {
    return this.#send({ kind: 'setMode', project, mode, minutes })
  }

  /** Trusts a file with the shown hash. Returns why it failed, or null. */
  async trustFile(project: ProjectId, { what, file, hash }: TrustFileRequest): Promise<string | null> {
    return this.#send({ kind: 'trustFile', project, what, file, hash })
  }

  /** Changes the model of a role. Returns why it failed, or null. */
  async setModel(project: ProjectId, role: RoleView, model: string): Promise<string | null> {
    const failure = await this.#send({ kind: 'setModel', project, role: role.name, model })
    if (failure === null) await this.roles.load(`${projectPath(project)}/roles`)
    return failure
  }

  /** Revokes a grant. */
  async revokeGrant(grant: Grant): Promise<void> {
    const failure = await this.#send({ kind: 'revokeGrant', grant: grant.id })
    if (failure !== null) this.#deps.notices.add('error', failure)
  }

  /** Whether such a command is pending. */
  isPending(test: (command: Command) => boolean): boolean {
    return this.#deps.commands.pending.some(({ command }) => test(command))
  }

  /** Changes whenever a project's roles or rules do. */
  filesVersion(project: ProjectId): string {
    const { governance } = this.#deps.documents.views
    const own = governance.get(project)
    const changes = [own?.rolesChanged, own?.policyChanged, governance.get(NIL_KEY)?.policyChanged]
    return changes.map((at) => (at === undefined ? '' : formatCursor(at))).join(' ')
  }

  /** Loads the files that these pages (names separated by spaces) show; null is no project. */
  loadFiles(project: ProjectId | null, pages: string): void {
    const path = project === null ? '' : projectPath(project)
    const shows = (...names: readonly PageName[]): boolean => project !== null && names.some((name) => pages.split(' ').includes(name))
    void this.roles.load(shows('roles', 'policy', 'chat') ? `${path}/roles` : null)
    void this.policy.load(shows('policy') ? `${path}/policy` : null)
    if (!shows('policy')) this.explainer.clear()
  }

  async #send(command: Command): Promise<string | null> {
    const outcome = await this.#deps.commands.send(command)
    return outcome.kind === 'failed' ? outcome.reason : null
  }
}
