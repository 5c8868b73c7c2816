/**
 * What governs the projects, and every deed of a person about it.
 *
 * Questions, modes and grants are folded from the log. Roles and rules are
 * files: the log says when they changed, and then they are read again.
 */
import type { ActionId, AnswerApprovalRequest, Approval, ApprovalId, ApprovalList, Grant, GrantList, ProjectMode, PolicyView, ProjectId, RoleList, RoleView, TrustFileRequest } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { Alerts } from '../approvals/browser-notifications.svelte.ts'
import { Answers, sentAfter, standing, type Standing } from '../approvals/submitted-answers.svelte.ts'
import { endedOf, pendingOf, withApproval } from '../approvals/approvals.ts'
import type { Commands } from '../commands/command-tracker.svelte.ts'
import { Desk } from '../approvals/approval-drawer.svelte.ts'
import { Explainer } from './policy-explainer.svelte.ts'
import { grantsOf, withGrants } from './grants.ts'
import type { Log } from '../log/event-log.svelte.ts'
import { policyMark, rolesMark } from './file-changes.ts'
import { modeAt, type ModeNow } from './modes.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { Reading } from '../resource/resource.svelte.ts'
import { byRisk } from '../approvals/risk.ts'
import type { Page } from '../navigation/route.ts'
import { Story } from '../timeline/action-report.svelte.ts'
import { projectPath, type Wish } from '../commands/command.ts'

/** The parts of the store that this one needs. */
export type Parts = {
  readonly log: Log
  readonly commands: Commands
  readonly navigation: Navigation
  readonly notices: Notices
}

/** See the head of this file. */
export class Governance {
  readonly #parts: Parts
  readonly answers = new Answers()
  readonly alerts = new Alerts()
  readonly desk: Desk
  readonly roles: Reading<RoleList>
  readonly policy: Reading<PolicyView>
  readonly story: Story
  readonly explainer: Explainer
  #looked = $state.raw<Approval | null>(null)
  #unsealed = 0
  readonly #leaving = new Set<ApprovalId>()

  readonly #pending: readonly Approval[]
  readonly #ended: readonly Approval[]

  constructor(parts: Parts) {
    this.#parts = parts
    const { navigation, log } = parts
    const approvals = $derived(log.folded.approvals)
    this.#pending = $derived(byRisk(pendingOf(approvals)))
    this.#ended = $derived(endedOf(approvals))
    const loggedOut = (): void => log.loggedOut()
    this.desk = new Desk((id) => navigation.approval(id))
    this.roles = new Reading(loggedOut)
    this.policy = new Reading(loggedOut)
    this.story = new Story(loggedOut)
    this.explainer = new Explainer(loggedOut)
  }

  /** The questions that wait, the gravest first. */
  get pending(): readonly Approval[] {
    return this.#pending
  }

  /** The last questions that ended, the latest first. */
  get ended(): readonly Approval[] {
    return this.#ended
  }

  /** The question on top in the drawer, if it is known. */
  get top(): Approval | null {
    const id = this.desk.selected
    if (id === null) return null
    return this.#parts.log.folded.approvals.all.get(id) ?? (this.#looked?.id === id ? this.#looked : null)
  }

  /** The question about an action that waits, if one does. */
  asking(action: ActionId): Approval | null {
    return this.#pending.find((approval) => approval.action === action) ?? null
  }

  /** How a question stands. */
  standing(approval: Approval): Standing {
    return standing(approval, this.answers.of(approval.id), this.#parts.log.folded.approvals.endings.get(approval.id))
  }

  /** The mode of a project at a time. */
  mode(project: ProjectId, now: number): ModeNow {
    return modeAt(this.#parts.log.folded.modes, project, now)
  }

  /** The grants of a project, the latest first. */
  grants(project: ProjectId): readonly Grant[] {
    return grantsOf(this.#parts.log.folded.grants, project)
  }

  /** Answers a question: what was shown, and nothing else. */
  async answer(approval: Approval, answer: Omit<AnswerApprovalRequest, 'actionHash'>): Promise<void> {
    if (this.answers.busy(approval.id) || approval.status !== 'pending') return
    const whole: AnswerApprovalRequest = { ...answer, actionHash: approval.actionHash }
    this.answers.set(approval.id, { kind: 'sending', answer: whole })
    const outcome = await this.#parts.commands.send({ kind: 'answer', approval: approval.id, answer: whole })
    const sent = sentAfter(whole, outcome)
    this.answers.set(approval.id, sent)
    if (sent.kind === 'confirmed') this.#leaving.add(approval.id)
    this.moveOn()
  }

  /** Goes on to what waits next, once the log has the answer that was given here. */
  moveOn(): void {
    const { top } = this
    if (top === null || this.standing(top).kind !== 'confirmed' || !this.#leaving.delete(top.id)) return
    const [next] = this.#pending
    if (next !== undefined) this.desk.select(next.id)
    else this.desk.close()
  }

  /** Sets the mode of a project; the answer is why it failed, or null. */
  async setMode(project: ProjectId, mode: ProjectMode, minutes: number | null = null): Promise<string | null> {
    return this.#give({ kind: 'mode', project, mode, minutes })
  }

  /** Trusts a file as it was shown; the answer is why it failed, or null. */
  async trust(project: ProjectId, { what, file, hash }: TrustFileRequest): Promise<string | null> {
    return this.#give({ kind: 'trust', project, what, file, hash })
  }

  /** Changes the model of a role; the answer is why it failed, or null. */
  async changeModel(project: ProjectId, role: RoleView, model: string): Promise<string | null> {
    const failure = await this.#give({ kind: 'model', project, role: role.name, model })
    if (failure === null) await this.roles.read(`${projectPath(project)}/roles`)
    return failure
  }

  /** Takes a grant back. */
  async revoke(grant: Grant): Promise<void> {
    const failure = await this.#give({ kind: 'revoke', grant: grant.id })
    if (failure !== null) this.#parts.notices.add('error', failure)
  }

  /** Whether a deed is under way. */
  doing(test: (wish: Wish) => boolean): boolean {
    return this.#parts.commands.pending.some(({ wish }) => test(wish))
  }

  /** The place of the last change of what governs a project. */
  mark(project: ProjectId): number {
    const { marks } = this.#parts.log.folded
    return Math.max(rolesMark(marks, project), policyMark(marks, project))
  }

  /** Reads the files that the pages of a project show, by the pages' names; null is no project. */
  readFiles(project: ProjectId | null, pages: string): void {
    const path = project === null ? '' : projectPath(project)
    const shows = (...names: readonly Page[]): boolean => project !== null && names.some((name) => pages.split(' ').includes(name))
    void this.roles.read(shows('roles', 'policy', 'chat') ? `${path}/roles` : null)
    void this.policy.read(shows('policy') ? `${path}/policy` : null)
    if (!shows('policy')) this.explainer.clear()
  }

  /** Fetches the grants of a project; the log may name some only. */
  async readGrants(project: ProjectId): Promise<void> {
    const result = await sendRequest<GrantList>({ method: 'GET', path: `${projectPath(project)}/grants?all=true` })
    if (result.kind === 'ok') this.#parts.log.amend((was) => ({ ...was, grants: withGrants(was.grants, result.value.grants) }))
    else if (result.kind === 'refused') this.#parts.notices.add('error', result.problem.error)
    else if (result.kind === 'loggedOut') this.#parts.log.loggedOut()
  }

  /** Fetches the questions that the log only names, once for each new one. */
  async unseal(): Promise<void> {
    const { log } = this.#parts
    const { sealed } = log.folded.approvals
    if (sealed < this.#unsealed) this.#unsealed = 0
    if (log.replaying || log.connection.kind !== 'live' || sealed <= this.#unsealed) return
    this.#unsealed = sealed
    const before = pendingOf(log.folded.approvals)
    const result = await sendRequest<ApprovalList>({ method: 'GET', path: '/api/approvals' })
    if (result.kind !== 'ok') {
      this.#unsealed = 0
      if (result.kind === 'refused') this.#parts.notices.add('error', result.problem.error)
      return
    }
    const listed = new Set(result.value.approvals.map(({ id }) => id))
    for (const approval of result.value.approvals) this.#add(approval)
    for (const { id } of before) if (!listed.has(id)) await this.fetchApproval(id)
  }

  /** Opens the drawer at the question that the address names, and fetches it if it is not known. */
  showLinked(id: ApprovalId): void {
    this.desk.show(this.#pending, id)
    if (this.top === null) void this.fetchApproval(id)
  }

  /** Fetches one question. */
  async fetchApproval(id: ApprovalId): Promise<void> {
    const result = await sendRequest<Approval>({ method: 'GET', path: `/api/approvals/${encodeURIComponent(id)}` })
    if (result.kind === 'ok') {
      this.#looked = result.value
      this.#add(result.value)
    } else if (result.kind === 'refused') {
      this.#parts.notices.add('error', result.problem.error)
      if (this.desk.selected === id) this.desk.close()
    }
  }

  #add(approval: Approval): void {
    this.#parts.log.amend((was) => ({ ...was, approvals: withApproval(was.approvals, approval) }))
  }

  async #give(wish: Wish): Promise<string | null> {
    const outcome = await this.#parts.commands.send(wish)
    return outcome.kind === 'failed' ? outcome.reason : null
  }
}
