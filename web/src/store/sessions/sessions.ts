/**
 * The sessions with models, without what was said in them: a pure fold that says
 * the same as the daemon's own.
 */
import type { Event, HandoffUsage, MessagePart, ProjectId, SessionId, SessionView, TokenUsage, TurnView } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** What is known of the sessions. */
export type Sessions = {
  readonly all: ReadonlyMap<SessionId, SessionView>
  /** The turns that are over, in their order: a session itself knows the last one only. */
  readonly ended: ReadonlyMap<SessionId, readonly TurnView[]>
  /** The place of the last event about them whose body is kept beside the log. */
  readonly sealed: number
}

/** An event of a session with a model. */
export type TalkEvent = Extract<
  Event,
  { kind: `${'SESSION' | 'MESSAGE' | 'TURN' | 'TEXT' | 'REASONING' | 'TOOL' | 'ATTEMPT' | 'USAGE' | 'TASK' | 'HANDED'}_${string}` }
>

/** Before the first event. */
export const NO_SESSIONS: Sessions = { all: new Map(), ended: new Map(), sealed: 0 }

const NO_USAGE: TokenUsage = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: 0 }
const NOTHING_HANDED: HandoffUsage = { usage: NO_USAGE, cost: 0, unpriced: 0 }
const TITLE = 80
const TALK = /^(?:SESSION|MESSAGE|TURN|TEXT|REASONING|TOOL|ATTEMPT|USAGE|TASK|HANDED)_/

/** Whether an event is of a session. */
export function isTalk(event: Event): event is TalkEvent {
  return TALK.test(event.kind)
}

/** Folds one event; those that change no line of the list change nothing. */
export function foldSessions(sessions: Sessions, event: Event): Sessions {
  // Most of a conversation is pieces of text, and they change no line of the list.
  if (!isTalk(event) || event.kind.endsWith('_DELTA') || event.kind.startsWith('TOOL_')) return sessions
  if (isTruncated(event)) return { ...sessions, sealed: event.seq }
  const before = sessions.all.get(event.body.session)
  const after = event.kind === 'SESSION_OPENED' ? opened(event) : before && changed(before, event)
  if (after === undefined || after === before) return sessions
  const all = new Map(sessions.all).set(after.id, after)
  const { turn } = after
  if (turn === null || turn.status === 'running' || before?.turn?.status !== 'running') return { ...sessions, all }
  return { ...sessions, all, ended: new Map(sessions.ended).set(after.id, [...(sessions.ended.get(after.id) ?? []), turn]) }
}

/** Takes the sessions as the daemon tells them; what the log told since is newer. */
export function withSessions(sessions: Sessions, told: readonly SessionView[]): Sessions {
  const all = new Map(sessions.all)
  for (const session of told) {
    const known = all.get(session.id)
    if (known === undefined || known.updatedAt <= session.updatedAt) all.set(session.id, session)
  }
  return { ...sessions, all }
}

/** The sessions of a project, the latest first; those that others handed a task to come with them. */
export function sessionsOf(sessions: Sessions, project: ProjectId): readonly SessionView[] {
  return [...sessions.all.values()].filter((session) => session.project === project).sort((a, b) => b.updatedAt - a.updatedAt)
}

function opened({ body, at, principal }: Extract<Event, { kind: 'SESSION_OPENED' }>): SessionView {
  const { session: id, project, role, model, budget, parent = null, depth, only = null } = body
  return {
    id, project, role, model, budget, parent, depth, only, title: '', status: 'idle', openedAt: at, openedBy: principal, updatedAt: at, items: 0, queued: [],
    turn: null, usage: NO_USAGE, cost: 0, unpriced: 0, handed: NOTHING_HANDED, context: 0, compacted: null,
  }
}

/** The session after an event of it. */
export function changed(session: SessionView, event: TalkEvent): SessionView {
  const now = { ...session, updatedAt: event.at }
  switch (event.kind) {
    case 'MESSAGE_ADDED':
      return said(now, event.body)
    case 'MESSAGE_WITHDRAWN': {
      const { message } = event.body
      return { ...now, queued: now.queued.filter((waiting) => waiting.message !== message) }
    }
    case 'TURN_STARTED':
      return started(now, event)
    case 'TOOL_CALLED':
      return { ...now, items: Math.max(now.items, event.body.item + 1) }
    case 'SESSION_COMPACTED': {
      const { item } = event.body
      return { ...now, items: Math.max(now.items, item + 1), compacted: item, context: 0 }
    }
    case 'USAGE_RECORDED':
      return spent(now, event.body)
    case 'TASK_USED':
      return spentBelow(now, event.body)
    case 'TURN_FINISHED':
      return ended(now, event, { status: 'finished', reason: event.body.reason })
    case 'TURN_FAILED':
      return ended(now, event, { status: 'failed', fault: event.body.fault })
    case 'TURN_CANCELLED':
      return ended(now, event, { status: 'cancelled' })
    case 'TURN_INTERRUPTED':
      return ended(now, event, { status: 'interrupted' })
    case 'SESSION_CLOSED':
      return { ...now, status: 'closed', queued: [] }
    default:
      return session
  }
}

type Body<K extends Event['kind']> = Exclude<Extract<Event, { kind: K }>['body'], { $blob: unknown }>

function said(session: SessionView, { item, from, parts, message, turn }: Body<'MESSAGE_ADDED'>): SessionView {
  const now = { ...session, items: Math.max(session.items, item + 1) }
  if (from === 'assistant') return now
  const waits = turn === null && session.status !== 'closed'
  return {
    ...now,
    title: session.title === '' ? titleOf(parts) : session.title,
    queued: waits ? [...session.queued, { message, item }] : session.queued,
  }
}

/** The beginning of the first line that says something. */
export function titleOf(parts: readonly MessagePart[]): string {
  const line = parts.flatMap(({ text }) => text.split('\n')).map((text) => text.trim()).find((text) => text !== '')
  return Array.from(line ?? '').slice(0, TITLE).join('')
}

function started(session: SessionView, event: Extract<Event, { kind: 'TURN_STARTED' }>): SessionView {
  const { turn: id, message } = event.body
  const queued = session.queued.filter((waiting) => waiting.message !== message)
  if (session.status === 'closed') return { ...session, queued }
  const turn: TurnView = {
    id, status: 'running', startedAt: event.at, endedAt: null, principal: event.principal, actor: event.actor, calls: 0, usage: NO_USAGE, cost: 0, reason: null, fault: null,
  }
  return { ...session, queued, status: 'running', turn }
}

function spent(session: SessionView, body: Body<'USAGE_RECORDED'>): SessionView {
  const { usage, purpose } = body
  return { ...added(session, body), context: purpose === 'answer' ? usage.input + usage.output : 0 }
}

/** What a task used that the session handed over. */
function spentBelow(session: SessionView, body: Body<'TASK_USED'>): SessionView {
  const { usage, cost } = body
  const { handed } = session
  return {
    ...added(session, body),
    handed: { usage: plus(handed.usage, usage), cost: handed.cost + (cost ?? 0), unpriced: handed.unpriced + (cost === null ? 1 : 0) },
  }
}

type Used = { readonly turn: TurnView['id'] | null; readonly usage: TokenUsage; readonly cost: number | null }

function added(session: SessionView, { turn: id, usage, cost }: Used): SessionView {
  const { turn } = session
  return {
    ...session,
    usage: plus(session.usage, usage),
    cost: session.cost + (cost ?? 0),
    unpriced: session.unpriced + (cost === null ? 1 : 0),
    turn: turn !== null && turn.id === id ? { ...turn, calls: turn.calls + 1, usage: plus(turn.usage, usage), cost: turn.cost + (cost ?? 0) } : turn,
  }
}

function plus(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cachedInput: a.cachedInput + b.cachedInput,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
  }
}

type EndEvent = Extract<Event, { kind: `TURN_${'FINISHED' | 'FAILED' | 'CANCELLED' | 'INTERRUPTED'}` }>

/** A turn ends once: what comes after its end changes nothing. */
function ended(session: SessionView, { at, body }: EndEvent, how: Partial<TurnView>): SessionView {
  const { turn } = session
  if (turn === null || turn.id !== body.turn || turn.status !== 'running') return session
  const status = session.status === 'closed' ? 'closed' : how.status === 'interrupted' ? 'interrupted' : 'idle'
  return { ...session, status, turn: { ...turn, endedAt: at, ...how } }
}
