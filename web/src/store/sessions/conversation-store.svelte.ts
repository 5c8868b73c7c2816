/**
 * The sessions with models, and the commands for them.
 *
 * The list of sessions and the conversation are documents. The list of models is not in
 * the log, and what was used is a sum over more sessions than are listed: both are fetched.
 */
import type { MessageId, ModelList, Project, ProjectId, SessionId, SessionList, SessionView, StartTourResponse, UsageReport } from '../../proto/index.ts'
import type { CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { DocumentFollower } from '../documents/document-follower.svelte.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { sendRequest } from '../../net/index.ts'
import { latestValue, Resource } from '../resource/resource.svelte.ts'
import { ConversationReader } from './conversation-reader.svelte.ts'
import { selectSessions } from './sessions.ts'

/** The parts of the store that this one needs. */
export type ConversationStoreDeps = {
  readonly documents: DocumentFollower
  readonly commands: CommandTracker
  readonly navigation: Navigation
  readonly notices: Notices
}

/** A session to open, with its first message. */
export type NewSession = { readonly project: Project; readonly role: string; readonly model: string | null; readonly text: string }

/** What the sessions of a project used: the cost in nano-dollars, tokens, and completions without a known price. */
export type UsageTotals = { readonly cost: number; readonly tokens: number; readonly unpriced: number }

const UNEXPECTED_RESPONSE = 'The daemon sent an unexpected response.'

/** See the head of this file. */
export class ConversationStore {
  readonly #deps: ConversationStoreDeps
  /** The conversation on the screen. */
  readonly current: ConversationReader
  /** The available models. */
  readonly models: Resource<ModelList>
  /** What the sessions of the shown project used. */
  readonly usage: Resource<UsageReport>
  /** From where on a project's sessions are not listed; null if all are. */
  #olderBefore = $state.raw<ReadonlyMap<ProjectId, string | null>>(new Map())
  #drafts = $state.raw<ReadonlyMap<string, string>>(new Map())

  constructor(deps: ConversationStoreDeps) {
    this.#deps = deps
    const onLoggedOut = (): void => deps.documents.setLoggedOut()
    this.current = new ConversationReader(onLoggedOut)
    this.models = new Resource(onLoggedOut)
    this.usage = new Resource(onLoggedOut)
  }

  /** The sessions of a project, the latest first. */
  selectSessions(project: ProjectId): readonly SessionView[] {
    return selectSessions(this.#deps.documents.views.sessions, project)
  }

  /** Whether the project may have sessions that are not listed. */
  hasOlder(project: ProjectId): boolean {
    return this.#olderBefore.get(project) !== null
  }

  /** Lists the latest sessions of a project, of which the page was sent those that are among the latest of all. */
  async fetchLatest(project: ProjectId): Promise<void> {
    await this.#fetchSessions(project, null)
  }

  /** Lists sessions that are older than those that are listed. */
  async fetchOlder(project: ProjectId): Promise<void> {
    const before = this.#olderBefore.get(project)
    if (before !== null) await this.#fetchSessions(project, before ?? null)
  }

  async #fetchSessions(project: ProjectId, before: string | null): Promise<void> {
    const query = new URLSearchParams({ project, ...(before === null ? {} : { before }) })
    const result = await sendRequest<SessionList>({ method: 'GET', path: `/api/sessions?${query.toString()}` })
    if (result.kind === 'loggedOut') this.#deps.documents.setLoggedOut()
    if (result.kind !== 'ok') return
    const { sessions, next } = result.value
    const known = this.#deps.documents.views.sessions
    // What is followed is at least as new as the answer.
    const unknown = sessions.filter(({ id }) => !known.has(id))
    this.#deps.documents.addFetched(unknown.map((session) => ({ view: 'sessions', key: session.id, document: session })))
    this.#olderBefore = new Map(this.#olderBefore).set(project, next ?? null)
  }

  /** Whether a session was ever opened; also true while that is unknown. */
  get hasSessions(): boolean {
    const { loading, views } = this.#deps.documents
    return loading || views.sessions.size > 0
  }

  /** Loads what the sessions of a project used: the total, not its days. */
  async fetchUsage(project: ProjectId): Promise<void> {
    await this.usage.load(`/api/usage?project=${encodeURIComponent(project)}&days=0`)
  }

  /** What the sessions of the shown project used. */
  get totalUsage(): UsageTotals {
    const report = latestValue(this.usage.state)
    if (report === null) return { cost: 0, tokens: 0, unpriced: 0 }
    const { cost, usage, unpriced } = report
    return { cost, tokens: usage.input + usage.output, unpriced }
  }

  /** Changes whenever a session of the project has used something. */
  usageVersion(project: ProjectId): string {
    const sessions = this.selectSessions(project)
    return sessions.map(({ usage }) => usage.input + usage.output).reduce((a, b) => a + b, 0).toString()
  }

  /** The messages that were sent and are not in the log yet. */
  pendingMessages(session: SessionId): readonly { readonly id: string; readonly text: string }[] {
    return this.#deps.commands.pending.flatMap(({ id, command }) => (command.kind === 'sendMessage' && command.session === session ? [{ id, text: command.text }] : []))
  }

  /** Whether a command of this kind is pending. */
  isPending(kind: 'cancelTurn' | 'continueTurn' | 'openSession' | 'startTour', session?: SessionId): boolean {
    return this.#deps.commands.pending.some(({ command }) => command.kind === kind && (session === undefined || ('session' in command && command.session === session)))
  }

  /** Opens a session and sends its first message. Returns why it failed, or null. */
  async openSession({ project, role, model, text }: NewSession): Promise<string | null> {
    const outcome = await this.#deps.commands.send({ kind: 'openSession', project: project.id, role, model })
    if (outcome.kind === 'failed') return outcome.reason
    if (outcome.kind !== 'done' || outcome.response === null) return UNEXPECTED_RESPONSE
    const { id: session } = outcome.response as SessionView
    // Show the session before the message is sent, so that its first approval appears in it.
    this.#deps.navigation.showSession(session)
    const failure = await this.sendMessage(session, text)
    if (failure === null) return null
    // The message was not sent: keep it as the draft of the new session.
    this.saveDraft(session, text)
    this.#deps.notices.add('error', failure)
    return null
  }

  /** Sends a message. Returns why it failed, or null. */
  async sendMessage(session: SessionId, text: string): Promise<string | null> {
    const outcome = await this.#deps.commands.send({ kind: 'sendMessage', session, text })
    return outcome.kind === 'failed' ? outcome.reason : null
  }

  /** Cancels the running turn. */
  async cancelTurn(session: SessionId): Promise<void> {
    if (!this.isPending('cancelTurn', session)) await this.#sendOrNotify({ kind: 'cancelTurn', session })
  }

  /** Continues a turn that was interrupted, failed or cancelled. */
  async continueTurn(session: SessionId): Promise<void> {
    if (!this.isPending('continueTurn', session)) await this.#sendOrNotify({ kind: 'continueTurn', session })
  }

  /** Withdraws a queued message and puts its text back into the draft. */
  async withdrawMessage(session: SessionId, message: MessageId, text: string): Promise<void> {
    if (this.#deps.commands.pending.some(({ command }) => command.kind === 'withdrawMessage' && command.message === message)) return
    const outcome = await this.#deps.commands.send({ kind: 'withdrawMessage', session, message })
    if (outcome.kind === 'failed') {
      this.#deps.notices.add('error', outcome.reason)
      return
    }
    const draft = this.draft(session)
    this.saveDraft(session, draft.trim() === '' ? text : `${text}\n\n${draft}`)
  }

  /** Closes a session; the conversation can still be read. */
  async closeSession(session: SessionId): Promise<void> {
    await this.#sendOrNotify({ kind: 'closeSession', session })
  }

  /** Creates the example project and starts the tour in it. Returns why it failed, or null. */
  async startTour(): Promise<string | null> {
    if (this.isPending('startTour')) return null
    const outcome = await this.#deps.commands.send({ kind: 'startTour' })
    if (outcome.kind === 'failed') return outcome.reason
    if (outcome.kind !== 'done' || outcome.response === null) return UNEXPECTED_RESPONSE
    const { session, project } = outcome.response as StartTourResponse
    this.#deps.navigation.goToSession(project.slug, session.id)
    return null
  }

  /** The text that was typed and not sent. */
  draft(key: string): string {
    return this.#drafts.get(key) ?? ''
  }

  /** Saves a draft, so that it survives navigation. */
  saveDraft(key: string, text: string): void {
    const drafts = new Map(this.#drafts)
    if (text === '') drafts.delete(key)
    else drafts.set(key, text)
    this.#drafts = drafts
  }

  async #sendOrNotify(command: { readonly kind: 'cancelTurn' | 'continueTurn' | 'closeSession'; readonly session: SessionId }): Promise<void> {
    const outcome = await this.#deps.commands.send(command)
    if (outcome.kind === 'failed') this.#deps.notices.add('error', outcome.reason)
  }
}
