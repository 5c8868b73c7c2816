/** The approvals, and how a person answers them. */
import type { ActionId, AnswerApprovalRequest, Approval, ApprovalDocument, ApprovalId } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import type { CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { DocumentFollower } from '../documents/document-follower.svelte.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { ApprovalDrawer } from './approval-drawer.svelte.ts'
import { pendingApprovals, resolvedApprovals } from './approvals.ts'
import { BrowserNotifications } from './browser-notifications.svelte.ts'
import { sortByRisk } from './risk.ts'
import { approvalState, submissionAfter, SubmittedAnswers, type ApprovalState } from './submitted-answers.svelte.ts'

/** The parts of the store that this one needs. */
export type ApprovalStoreDeps = {
  readonly documents: DocumentFollower
  readonly commands: CommandTracker
  readonly navigation: Navigation
  readonly notices: Notices
}

/** How many approvals that were fetched whole are kept, besides those that are pending. */
const MAX_FETCHED = 50

/** See the head of this file. */
export class ApprovalStore {
  readonly #deps: ApprovalStoreDeps
  readonly answers = new SubmittedAnswers()
  readonly notifications = new BrowserNotifications()
  readonly drawer: ApprovalDrawer
  /** Approvals that were fetched whole: their document is cut, or there is none. */
  #fetched = $state.raw<ReadonlyMap<ApprovalId, Approval>>(new Map())
  readonly #fetching = new Set<ApprovalId>()
  /** Answered from this page: the drawer moves on once the log confirms them. */
  readonly #answeredHere = new Set<ApprovalId>()

  readonly #pending: readonly Approval[]
  readonly #resolved: readonly Approval[]
  /** Pending approvals whose document is cut and which are not fetched yet. */
  readonly #missing: readonly ApprovalId[]

  constructor(deps: ApprovalStoreDeps) {
    this.#deps = deps
    const { navigation, documents } = deps
    const approvals = $derived(documents.views.approvals)
    const pending = $derived(pendingApprovals(approvals))
    this.#missing = $derived(pending.filter(({ id, truncated }) => truncated && !this.#fetched.has(id)).map(({ id }) => id))
    // A cut approval is neither shown nor answered: it appears once it was fetched.
    this.#pending = $derived(sortByRisk(pending.flatMap((approval) => this.#whole(approval) ?? [])))
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

  /** The pending approvals that must be fetched before they can be shown. */
  get missing(): readonly ApprovalId[] {
    return this.#missing
  }

  /** The approval that is selected in the drawer, if it is known. */
  get selected(): Approval | null {
    const id = this.drawer.selected
    return id === null ? null : this.find(id)
  }

  /** The whole approval with this id, if it is known. */
  find(id: ApprovalId): Approval | null {
    const document = this.#deps.documents.views.approvals.get(id)
    if (document !== undefined) return this.#whole(document)
    const fetched = this.#fetched.get(id)
    // All pending approvals are documents: one that is not was resolved since it was fetched.
    return fetched === undefined || fetched.status === 'pending' ? null : fetched
  }

  /** The pending approval of an action, or null. */
  pendingFor(action: ActionId): Approval | null {
    return this.#pending.find((approval) => approval.action === action) ?? null
  }

  /** The state of an approval. */
  stateOf(approval: Approval): ApprovalState {
    return approvalState(approval, this.answers.get(approval.id))
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

  /** Fetches the pending approvals whose documents are cut. */
  async fetchMissing(): Promise<void> {
    for (const id of this.#missing) await this.fetchApproval(id)
  }

  /** Opens the drawer at the approval in the address; fetches it if it is unknown. */
  showLinked(id: ApprovalId): void {
    this.drawer.show(this.#pending, id)
    if (this.selected === null) void this.fetchApproval(id)
  }

  /** Fetches one approval whole, unless that is under way. */
  async fetchApproval(id: ApprovalId): Promise<void> {
    if (this.#fetching.has(id)) return
    this.#fetching.add(id)
    const result = await sendRequest<Approval>({ method: 'GET', path: `/api/approvals/${encodeURIComponent(id)}` })
    this.#fetching.delete(id)
    if (result.kind === 'ok') this.#fetched = new Map(this.#keptFetched()).set(id, result.value)
    else if (result.kind === 'refused') {
      this.#deps.notices.add('error', result.problem.error)
      if (this.drawer.selected === id) this.drawer.close()
    }
  }

  /** The fetched approvals without the oldest, of which those that are pending are needed. */
  #keptFetched(): readonly (readonly [ApprovalId, Approval])[] {
    const { approvals } = this.#deps.documents.views
    const all = [...this.#fetched]
    return all.filter(([id], index) => all.length - index < MAX_FETCHED || approvals.get(id)?.status === 'pending')
  }

  /** The whole of an approval: of a cut one, the prompt as it was fetched and the status as it is now. */
  #whole(document: ApprovalDocument): Approval | null {
    if (!document.truncated) return document
    const fetched = this.#fetched.get(document.id)
    return fetched === undefined ? null : { ...document, question: fetched.question }
  }
}
