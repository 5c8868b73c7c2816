/** The approvals, and how a person answers them. They are folded from the log. */
import type { ActionId, AnswerApprovalRequest, Approval, ApprovalId, ApprovalList } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import type { CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { EventLog } from '../log/event-log.svelte.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { ApprovalDrawer } from './approval-drawer.svelte.ts'
import { pendingApprovals, resolvedApprovals, withApproval } from './approvals.ts'
import { BrowserNotifications } from './browser-notifications.svelte.ts'
import { sortByRisk } from './risk.ts'
import { approvalState, submissionAfter, SubmittedAnswers, type ApprovalState } from './submitted-answers.svelte.ts'

/** The parts of the store that this one needs. */
export type ApprovalStoreDeps = {
  readonly log: EventLog
  readonly commands: CommandTracker
  readonly navigation: Navigation
  readonly notices: Notices
}

/** See the head of this file. */
export class ApprovalStore {
  readonly #deps: ApprovalStoreDeps
  readonly answers = new SubmittedAnswers()
  readonly notifications = new BrowserNotifications()
  readonly drawer: ApprovalDrawer
  #fetched = $state.raw<Approval | null>(null)
  /** The seq of the last truncated approval event whose approval was fetched. */
  #hydratedSeq = 0
  /** Answered from this page: the drawer moves on once the log confirms them. */
  readonly #answeredHere = new Set<ApprovalId>()

  readonly #pending: readonly Approval[]
  readonly #resolved: readonly Approval[]

  constructor(deps: ApprovalStoreDeps) {
    this.#deps = deps
    const { navigation, log } = deps
    const approvals = $derived(log.projection.approvals)
    this.#pending = $derived(sortByRisk(pendingApprovals(approvals)))
    this.#resolved = $derived(resolvedApprovals(approvals))
    this.drawer = new ApprovalDrawer((id) => navigation.showApproval(id))
  }

  /** The pending approvals, the highest risk first. */
  get pending(): readonly Approval[] {
    return this.#pending
  }

  /** The last resolved approvals, the latest first. */
  get resolved(): readonly Approval[] {
    return this.#resolved
  }

  /** The approval that is selected in the drawer, if it is known. */
  get selected(): Approval | null {
    const id = this.drawer.selected
    if (id === null) return null
    return this.#deps.log.projection.approvals.all.get(id) ?? (this.#fetched?.id === id ? this.#fetched : null)
  }

  /** The pending approval of an action, or null. */
  pendingFor(action: ActionId): Approval | null {
    return this.#pending.find((approval) => approval.action === action) ?? null
  }

  /** The state of an approval. */
  stateOf(approval: Approval): ApprovalState {
    return approvalState(approval, this.answers.get(approval.id), this.#deps.log.projection.approvals.resolutions.get(approval.id))
  }

  /** Answers an approval. The answer is bound to the action that was shown. */
  async answer(approval: Approval, answer: Omit<AnswerApprovalRequest, 'actionHash'>): Promise<void> {
    if (this.answers.isSending(approval.id) || approval.status !== 'pending') return
    const request: AnswerApprovalRequest = { ...answer, actionHash: approval.actionHash }
    this.answers.set(approval.id, { kind: 'sending', answer: request })
    const outcome = await this.#deps.commands.send({ kind: 'answerApproval', approval: approval.id, answer: request })
    const submission = submissionAfter(request, outcome)
    this.answers.set(approval.id, submission)
    if (submission.kind === 'confirmed') this.#answeredHere.add(approval.id)
    this.selectNext()
  }

  /** Selects the next pending approval, once the log confirms the answer that was given here. */
  selectNext(): void {
    const { selected } = this
    if (selected === null || this.stateOf(selected).kind !== 'confirmed' || !this.#answeredHere.delete(selected.id)) return
    const [next] = this.#pending
    if (next !== undefined) this.drawer.select(next.id)
    else this.drawer.close()
  }

  /** Fetches the approvals if there is a new truncated approval event. */
  async hydrate(): Promise<void> {
    const { log } = this.#deps
    const { truncatedSeq } = log.projection.approvals
    if (truncatedSeq < this.#hydratedSeq) this.#hydratedSeq = 0
    if (log.replaying || log.connection.kind !== 'live' || truncatedSeq <= this.#hydratedSeq) return
    this.#hydratedSeq = truncatedSeq
    const before = pendingApprovals(log.projection.approvals)
    const result = await sendRequest<ApprovalList>({ method: 'GET', path: '/api/approvals' })
    if (result.kind !== 'ok') {
      this.#hydratedSeq = 0
      if (result.kind === 'refused') this.#deps.notices.add('error', result.problem.error)
      return
    }
    const listed = new Set(result.value.approvals.map(({ id }) => id))
    for (const approval of result.value.approvals) this.#add(approval)
    for (const { id } of before) if (!listed.has(id)) await this.fetchApproval(id)
  }

  /** Opens the drawer at the approval in the address; fetches it if it is unknown. */
  showLinked(id: ApprovalId): void {
    this.drawer.show(this.#pending, id)
    if (this.selected === null) void this.fetchApproval(id)
  }

  /** Fetches one approval. */
  async fetchApproval(id: ApprovalId): Promise<void> {
    const result = await sendRequest<Approval>({ method: 'GET', path: `/api/approvals/${encodeURIComponent(id)}` })
    if (result.kind === 'ok') {
      this.#fetched = result.value
      this.#add(result.value)
    } else if (result.kind === 'refused') {
      this.#deps.notices.add('error', result.problem.error)
      if (this.drawer.selected === id) this.drawer.close()
    }
  }

  #add(approval: Approval): void {
    this.#deps.log.amend((projection) => ({ ...projection, approvals: withApproval(projection.approvals, approval) }))
  }
}
