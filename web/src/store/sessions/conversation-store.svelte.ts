/**
 * The sessions with models, and the commands for them.
 *
 * The list of sessions and the conversation are folded from the log. The list of
 * models is not in the log, so it is fetched.
 */
import type { MessageId, ModelList, Project, ProjectId, SessionId, SessionList, SessionView, TurnView } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import type { CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { EventLog } from '../log/event-log.svelte.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { Resource } from '../resource/resource.svelte.ts'
import { ConversationReader } from './conversation-reader.svelte.ts'
import { sessionsOf, withSessions } from './sessions.ts'

/** The parts of the store that this one needs. */
export type ConversationStoreDeps = {
  readonly log: EventLog
  readonly commands: CommandTracker
  readonly navigation: Navigation
  readonly notices: Notices
}

/** A session to open, with its first message. */
export type NewSession = { readonly project: Project; readonly role: string; readonly model: string | null; readonly text: string }

/** What the sessions of a project used: the cost in nano-dollars, tokens, and completions without a known price. */
export type UsageTotals = { readonly cost: number; readonly tokens: number; readonly unpriced: number; readonly sessions: number }

const UNEXPECTED_RESPONSE = 'The daemon sent an unexpected response.'

/** See the head of this file. */
export class ConversationStore {
  readonly #deps: ConversationStoreDeps
  /** The conversation on the screen. */
  readonly current: ConversationReader
  /** The available models. */
  readonly models: Resource<ModelList>
  /** The seq of the last truncated session event whose session was fetched. */
  #hydratedSeq = 0
  #drafts = $state.raw<ReadonlyMap<string, string>>(new Map())

  constructor(deps: ConversationStoreDeps) {
    this.#deps = deps
    const onLoggedOut = (): void => deps.log.setLoggedOut()
    this.current = new ConversationReader(onLoggedOut)
    this.models = new Resource(onLoggedOut)
  }

  /** The sessions of a project, the latest first. */
  sessionsOf(project: ProjectId): readonly SessionView[] {
    return sessionsOf(this.#deps.log.projection.sessions, project)
  }

  /** Whether a session was ever opened; also true while that is unknown. */
  get hasSessions(): boolean {
    const { replaying, partial, projection } = this.#deps.log
    return replaying || partial || projection.sessions.all.size > 0 || projection.sessions.truncatedSeq > 0
  }

  /** The turns of a session that have ended. */
  endedTurns(session: SessionId): readonly TurnView[] {
    return this.#deps.log.projection.sessions.endedTurns.get(session) ?? []
  }

  /** What the sessions of a project used. */
  totalUsage(project: ProjectId): UsageTotals {
    let [cost, tokens, unpriced, sessions] = [0, 0, 0, 0]
    for (const session of this.#deps.log.projection.sessions.all.values()) {
      if (session.project !== project) continue
      // Usage of handed-off tasks is counted in the session that did them.
      const { usage, handed } = session
      cost += session.cost - handed.cost
      tokens += usage.input + usage.output - handed.usage.input - handed.usage.output
      unpriced += session.unpriced - handed.unpriced
      sessions++
    }
    return { cost, tokens, unpriced, sessions }
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
    if (outcome.kind !== 'done' || outcome.event?.kind !== 'SESSION_OPENED') return UNEXPECTED_RESPONSE
    const { session } = outcome.event.body
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
    if (outcome.kind !== 'done' || outcome.event?.kind !== 'SESSION_OPENED') return UNEXPECTED_RESPONSE
    const { session, project } = outcome.event.body
    const slug = this.#deps.log.projection.projects.get(project)?.slug
    if (slug !== undefined) this.#deps.navigation.goToSession(slug, session)
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

  /** Fetches the sessions if there is a new truncated session event. */
  async hydrate(): Promise<void> {
    const { log } = this.#deps
    const { truncatedSeq } = log.projection.sessions
    if (truncatedSeq < this.#hydratedSeq) this.#hydratedSeq = 0
    if (truncatedSeq <= this.#hydratedSeq) return
    this.#hydratedSeq = truncatedSeq
    const result = await sendRequest<SessionList>({ method: 'GET', path: '/api/sessions' })
    if (result.kind === 'ok') log.amend((projection) => ({ ...projection, sessions: withSessions(projection.sessions, result.value.sessions) }))
    else if (result.kind === 'loggedOut') log.setLoggedOut()
    else this.#hydratedSeq = 0
  }

  async #sendOrNotify(command: { readonly kind: 'cancelTurn' | 'continueTurn' | 'closeSession'; readonly session: SessionId }): Promise<void> {
    const outcome = await this.#deps.commands.send(command)
    if (outcome.kind === 'failed') this.#deps.notices.add('error', outcome.reason)
  }
}
