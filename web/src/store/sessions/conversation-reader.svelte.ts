/** The conversation on the screen: the documents of its session, followed as long as it is shown. */
import type { ActionId, ActionView, ApprovalDocument, ProjectId, SessionDetail, SessionId, SessionItem } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { DocumentFollower } from '../documents/document-follower.svelte.ts'
import type { DocumentViews } from '../documents/views.ts'
import { actionDetails, conversationItems, endedTurns, firstItem, type ActionDetails, type Conversation } from './conversation.ts'

/** The loading state of the conversation. */
export type ConversationState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading'; readonly session: SessionId }
  | { readonly kind: 'loaded'; readonly conversation: Conversation }
  | { readonly kind: 'failed'; readonly session: SessionId; readonly reason: string }

/** A session adds its other views itself; without a view, those of the whole page would be sent again. */
const VIEWS = 'drafts'
const NO_DETAILS: ActionDetails = { output: '', notes: [] }

/** See the head of this file. */
export class ConversationReader {
  #session = $state.raw<SessionId | null>(null)
  #documents = $state.raw<DocumentFollower | null>(null)
  #failure = $state.raw<string | null>(null)
  /** Items before those that the documents hold. */
  #fetched = $state.raw<readonly SessionItem[]>([])
  #fetchingEarlier = false
  readonly #fetchedActions = new Set<ActionId>()
  readonly #onLoggedOut: () => void
  readonly #state = $derived.by(() => this.#deriveState())
  /** The last items: they stay the same value while a text is streamed. */
  #items: { readonly pages: DocumentViews['pages']; readonly fetched: readonly SessionItem[]; readonly all: readonly SessionItem[] } | null = null
  #turns: { readonly documents: DocumentViews['turns']; readonly ended: Conversation['endedTurns'] } | null = null

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The loading state. */
  get state(): ConversationState {
    return this.#state
  }

  /** Shows a conversation of a project; null shows none. */
  show(project: ProjectId | null, session: SessionId | null): void {
    if (session === this.#session) return
    this.#documents?.stop()
    this.#session = session
    this.#failure = null
    this.#fetched = []
    this.#fetchedActions.clear()
    this.#documents = session === null || project === null ? null : this.#followerOf(project, session)
  }

  /** Follows the conversation, or pauses: what is shown stays. */
  setFollowing(following: boolean): void {
    if (following) void this.#documents?.start()
    else this.#documents?.stop()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#documents?.retryNow()
  }

  /** Fetches items before those that are loaded. */
  async fetchEarlier(): Promise<void> {
    const session = this.#session
    if (session === null || this.#state.kind !== 'loaded' || this.#fetchingEarlier) return
    const before = firstItem(this.#state.conversation.items)
    this.#fetchingEarlier = true
    const result = await sendRequest<SessionDetail>({ method: 'GET', path: `/api/sessions/${encodeURIComponent(session)}?before=${String(before)}` })
    this.#fetchingEarlier = false
    if (result.kind === 'loggedOut') this.#onLoggedOut()
    if (result.kind === 'ok' && session === this.#session) this.#fetched = [...result.value.items, ...this.#fetched]
  }

  /** The action of a tool call, if its document is known. */
  actionOf(action: ActionId): ActionView | undefined {
    return this.#documents?.views.actions.get(action)
  }

  /** The approval that a tool call's action waited for last, which may be cut. */
  approvalOf(action: ActionId): ApprovalDocument | undefined {
    const views = this.#documents?.views
    const approval = views?.actions.get(action)?.approval
    return approval === undefined ? undefined : views?.approvals.get(approval)
  }

  /** The details of a tool call's action, as far as they are known. */
  detailsOf(action: ActionId): ActionDetails {
    const views = this.#documents?.views
    return views === undefined ? NO_DETAILS : actionDetails(views.actions.get(action), views.outputs.get(action))
  }

  /** Fetches an action whose document is not sent, because its tool call is too old. */
  async fetchAction(action: ActionId): Promise<void> {
    const documents = this.#documents
    if (documents === null || documents.views.actions.has(action) || this.#fetchedActions.has(action)) return
    this.#fetchedActions.add(action)
    const result = await sendRequest<ActionView>({ method: 'GET', path: `/api/actions/${encodeURIComponent(action)}` })
    if (result.kind === 'ok') documents.addFetched([{ view: 'actions', key: action, document: result.value }])
  }

  #followerOf(project: ProjectId, session: SessionId): DocumentFollower {
    return new DocumentFollower(new URLSearchParams({ views: VIEWS, project, session }), {
      refused: (problem) => {
        if (session === this.#session) this.#failure = problem.error
      },
      loggedOut: this.#onLoggedOut,
    })
  }

  #deriveState(): ConversationState {
    const [session, documents] = [this.#session, this.#documents]
    if (session === null || documents === null) return { kind: 'none' }
    if (this.#failure !== null) return { kind: 'failed', session, reason: this.#failure }
    const view = documents.views.sessions.get(session)
    if (view === undefined) return documents.loading ? { kind: 'loading', session } : { kind: 'failed', session, reason: 'The log has no such session.' }
    const { pages, turns, drafts } = documents.views
    const items = this.#itemsOf(pages, this.#fetched)
    const conversation = { session: view, items, unloaded: firstItem(items), endedTurns: this.#turnsOf(turns, session), draft: drafts.get(session) ?? null }
    return { kind: 'loaded', conversation }
  }

  #itemsOf(pages: DocumentViews['pages'], fetched: readonly SessionItem[]): readonly SessionItem[] {
    if (this.#items?.pages !== pages || this.#items.fetched !== fetched) this.#items = { pages, fetched, all: conversationItems(pages.values(), fetched) }
    return this.#items.all
  }

  #turnsOf(documents: DocumentViews['turns'], session: SessionId): Conversation['endedTurns'] {
    if (this.#turns?.documents !== documents) this.#turns = { documents, ended: endedTurns(documents, session) }
    return this.#turns.ended
  }
}
