/**
 * The sessions with models, and every deed of a person about them.
 *
 * The list is folded from the log, as is what is said in the one that is looked at.
 * Which models can be asked is nothing the log knows, so that is read.
 */
import type { MessageId, ModelList, Project, ProjectId, SessionId, SessionList, SessionView, TurnView } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import type { Commands } from '../commands/command-tracker.svelte.ts'
import type { Log } from '../log/event-log.svelte.ts'
import type { Navigation } from '../navigation/navigation.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { Reading } from '../resource/resource.svelte.ts'
import { sessionsOf, withSessions } from './sessions.ts'
import { Talk } from './conversation-reader.svelte.ts'

/** The parts of the store that this one needs. */
export type TalksParts = {
  readonly log: Log
  readonly commands: Commands
  readonly navigation: Navigation
  readonly notices: Notices
}

/** What is said first in a session that is still to be opened. */
export type Beginning = { readonly project: Project; readonly role: string; readonly model: string | null; readonly text: string }

/** What the models of a project used, and what that cost. */
export type Spent = { readonly cost: number; readonly tokens: number; readonly unpriced: number; readonly sessions: number }

/** See the head of this file. */
export class Talks {
  readonly #parts: TalksParts
  /** The conversation that is looked at. */
  readonly talk: Talk
  /** The models that can be asked. */
  readonly models: Reading<ModelList>
  #unsealed = 0
  #drafts = $state.raw<ReadonlyMap<string, string>>(new Map())

  constructor(parts: TalksParts) {
    this.#parts = parts
    const loggedOut = (): void => parts.log.loggedOut()
    this.talk = new Talk(loggedOut)
    this.models = new Reading(loggedOut)
  }

  /** The sessions of a project, the latest first. */
  of(project: ProjectId): readonly SessionView[] {
    return sessionsOf(this.#parts.log.folded.sessions, project)
  }

  /** Whether anybody ever opened a session here, or may have as far as is known. */
  get begun(): boolean {
    const { replaying, partial, folded } = this.#parts.log
    return replaying || partial || folded.sessions.all.size > 0 || folded.sessions.sealed > 0
  }

  /** The turns of a session that are over. */
  ended(session: SessionId): readonly TurnView[] {
    return this.#parts.log.folded.sessions.ended.get(session) ?? []
  }

  /** What a project's sessions used. */
  spent(project: ProjectId): Spent {
    let [cost, tokens, unpriced, sessions] = [0, 0, 0, 0]
    for (const session of this.#parts.log.folded.sessions.all.values()) {
      if (session.project !== project) continue
      // What it handed over is counted where it was used.
      const { usage, handed } = session
      cost += session.cost - handed.cost
      tokens += usage.input + usage.output - handed.usage.input - handed.usage.output
      unpriced += session.unpriced - handed.unpriced
      sessions++
    }
    return { cost, tokens, unpriced, sessions }
  }

  /** What was sent and is not in the log yet. */
  sending(session: SessionId): readonly { readonly id: string; readonly text: string }[] {
    return this.#parts.commands.pending.flatMap(({ id, wish }) => (wish.kind === 'say' && wish.session === session ? [{ id, text: wish.text }] : []))
  }

  /** Whether a deed of this kind is under way. */
  doing(kind: 'cancel' | 'continue' | 'session' | 'tour', session?: SessionId): boolean {
    return this.#parts.commands.pending.some(({ wish }) => wish.kind === kind && (session === undefined || ('session' in wish && wish.session === session)))
  }

  /** Opens a session and says the first thing in it; the answer is why it failed, or null. */
  async begin({ project, role, model, text }: Beginning): Promise<string | null> {
    const outcome = await this.#parts.commands.send({ kind: 'session', project: project.id, role, model })
    if (outcome.kind === 'failed') return outcome.reason
    if (outcome.kind !== 'done' || outcome.event?.kind !== 'SESSION_OPENED') return 'The daemon answered something else.'
    const { session } = outcome.event.body
    // First looked at, then said: what the model asks at once is asked there.
    this.#parts.navigation.session(session)
    const failure = await this.say(session, text)
    if (failure === null) return null
    // It was not taken: who wrote it still has it, where it is to be said.
    this.keep(session, text)
    this.#parts.notices.add('error', failure)
    return null
  }

  /** Says something; the answer is why it failed, or null. */
  async say(session: SessionId, text: string): Promise<string | null> {
    const outcome = await this.#parts.commands.send({ kind: 'say', session, text })
    return outcome.kind === 'failed' ? outcome.reason : null
  }

  /** Stops the turn. */
  async cancel(session: SessionId): Promise<void> {
    if (!this.doing('cancel', session)) await this.#give({ kind: 'cancel', session })
  }

  /** Goes on with a turn that was cut off or failed, or was cancelled. */
  async goOn(session: SessionId): Promise<void> {
    if (!this.doing('continue', session)) await this.#give({ kind: 'continue', session })
  }

  /** Takes back what waits for its turn; it is where one types again. */
  async takeBack(session: SessionId, message: MessageId, text: string): Promise<void> {
    if (this.#parts.commands.pending.some(({ wish }) => wish.kind === 'takeBack' && wish.message === message)) return
    const outcome = await this.#parts.commands.send({ kind: 'takeBack', session, message })
    if (outcome.kind === 'failed') {
      this.#parts.notices.add('error', outcome.reason)
      return
    }
    const typed = this.typed(session)
    this.keep(session, typed.trim() === '' ? text : `${text}\n\n${typed}`)
  }

  /** Closes a session; what was said stays. */
  async close(session: SessionId): Promise<void> {
    await this.#give({ kind: 'endSession', session })
  }

  /** Makes the example project and begins the tour in it; the answer is why it failed, or null. */
  async takeTour(): Promise<string | null> {
    if (this.doing('tour')) return null
    const outcome = await this.#parts.commands.send({ kind: 'tour' })
    if (outcome.kind === 'failed') return outcome.reason
    if (outcome.kind !== 'done' || outcome.event?.kind !== 'SESSION_OPENED') return 'The daemon answered something else.'
    const { session, project } = outcome.event.body
    const slug = this.#parts.log.folded.projects.get(project)?.slug
    if (slug !== undefined) this.#parts.navigation.talk(slug, session)
    return null
  }

  /** What was typed and not sent, so that looking elsewhere loses nothing. */
  typed(where: string): string {
    return this.#drafts.get(where) ?? ''
  }

  /** Keeps what was typed. */
  keep(where: string, text: string): void {
    const drafts = new Map(this.#drafts)
    if (text === '') drafts.delete(where)
    else drafts.set(where, text)
    this.#drafts = drafts
  }

  /** Fetches the sessions that the log only names, once for each new one. */
  async unseal(): Promise<void> {
    const { log } = this.#parts
    const { sealed } = log.folded.sessions
    if (sealed < this.#unsealed) this.#unsealed = 0
    if (sealed <= this.#unsealed) return
    this.#unsealed = sealed
    const result = await sendRequest<SessionList>({ method: 'GET', path: '/api/sessions' })
    if (result.kind === 'ok') log.amend((was) => ({ ...was, sessions: withSessions(was.sessions, result.value.sessions) }))
    else if (result.kind === 'loggedOut') log.loggedOut()
    else this.#unsealed = 0
  }

  async #give(wish: { readonly kind: 'cancel' | 'continue' | 'endSession'; readonly session: SessionId }): Promise<void> {
    const outcome = await this.#parts.commands.send(wish)
    if (outcome.kind === 'failed') this.#parts.notices.add('error', outcome.reason)
  }
}
