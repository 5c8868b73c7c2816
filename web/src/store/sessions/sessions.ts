/**
 * The sessions with models, without their messages, folded from the log. Pure; equal
 * to the daemon's own fold.
 */
import type { Event, HandoffUsage, MessagePart, ProjectId, SessionId, SessionView, TokenUsage, TurnView } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** The known sessions. */
export type Sessions = {
  readonly all: ReadonlyMap<SessionId, SessionView>
  /** The turns that have ended, in order: a session itself holds only the last one. */
  readonly endedTurns: ReadonlyMap<SessionId, readonly TurnView[]>
  /** The seq of the last truncated event about sessions. */
  readonly truncatedSeq: number
}

/** An event of a session with a model. */
export type SessionEvent = Extract<
  Event,
  { kind: `${'SESSION' | 'MESSAGE' | 'TURN' | 'TEXT' | 'REASONING' | 'TOOL' | 'ATTEMPT' | 'USAGE' | 'TASK' | 'HANDED'}_${string}` }
>

/** The state before the first event. */
export const NO_SESSIONS: Sessions = { all: new Map(), endedTurns: new Map(), truncatedSeq: 0 }

const NO_USAGE: TokenUsage = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: 0 }
const NO_HANDOFF_USAGE: HandoffUsage = { usage: NO_USAGE, cost: 0, unpriced: 0 }
/** The longest title, in code points. */
const TITLE_LENGTH = 80
const SESSION_KIND = /^(?:SESSION|MESSAGE|TURN|TEXT|REASONING|TOOL|ATTEMPT|USAGE|TASK|HANDED)_/

/** Whether an event belongs to a session. */
export function isSessionEvent(event: Event): event is SessionEvent {
  return SESSION_KIND.test(event.kind)
}

/** Folds one event; events that do not change the list of sessions change nothing. */
export function foldSessions(sessions: Sessions, event: Event): Sessions {
  // Most events of a conversation are deltas, which do not change the list.
  if (!isSessionEvent(event) || event.kind.endsWith('_DELTA') || event.kind.startsWith('TOOL_')) return sessions
  if (isTruncated(event)) return { ...sessions, truncatedSeq: event.seq }
  const before = sessions.all.get(event.body.session)
  const after = event.kind === 'SESSION_OPENED' ? openedSession(event) : before && applySessionEvent(before, event)
  if (after === undefined || after === before) return sessions
  const all = new Map(sessions.all).set(after.id, after)
  const { turn } = after
  if (turn === null || turn.status === 'running' || before?.turn?.status !== 'running') return { ...sessions, all }
  return { ...sessions, all, endedTurns: new Map(sessions.endedTurns).set(after.id, [...(sessions.endedTurns.get(after.id) ?? []), turn]) }
}

/** Adds fetched sessions, unless the log is newer. */
export function withSessions(sessions: Sessions, fetched: readonly SessionView[]): Sessions {
  const all = new Map(sessions.all)
  for (const session of fetched) {
    const known = all.get(session.id)
    if (known === undefined || known.updatedAt <= session.updatedAt) all.set(session.id, session)
  }
  return { ...sessions, all }
}

/** The sessions of a project, the latest first, including those of handed-off tasks. */
export function sessionsOf(sessions: Sessions, project: ProjectId): readonly SessionView[] {
  return [...sessions.all.values()].filter((session) => session.project === project).sort((a, b) => b.updatedAt - a.updatedAt)
}

function openedSession({ body, at, principal }: Extract<Event, { kind: 'SESSION_OPENED' }>): SessionView {
  const { session: id, project, role, model, budget, parent = null, depth, only = null } = body
  return {
    id, project, role, model, budget, parent, depth, only, title: '', status: 'idle', openedAt: at, openedBy: principal, updatedAt: at, items: 0, queued: [],
    turn: null, usage: NO_USAGE, cost: 0, unpriced: 0, handed: NO_HANDOFF_USAGE, context: 0, compacted: null,
  }
}

/** The session after one of its events. */
export function applySessionEvent(session: SessionView, event: SessionEvent): SessionView {
  const now = { ...session, updatedAt: event.at }
  switch (event.kind) {
    case 'MESSAGE_ADDED':
      return withMessage(now, event.body)
    case 'MESSAGE_WITHDRAWN': {
      const { message } = event.body
      return { ...now, queued: now.queued.filter((waiting) => waiting.message !== message) }
    }
    case 'TURN_STARTED':
      return withStartedTurn(now, event)
    case 'TOOL_CALLED':
      return { ...now, items: Math.max(now.items, event.body.item + 1) }
    case 'SESSION_COMPACTED': {
      const { item } = event.body
      return { ...now, items: Math.max(now.items, item + 1), compacted: item, context: 0 }
    }
    case 'USAGE_RECORDED':
      return withUsage(now, event.body)
    case 'TASK_USED':
      return withHandoffUsage(now, event.body)
    case 'TURN_FINISHED':
      return withEndedTurn(now, event, { status: 'finished', reason: event.body.reason })
    case 'TURN_FAILED':
      return withEndedTurn(now, event, { status: 'failed', fault: event.body.fault })
    case 'TURN_CANCELLED':
      return withEndedTurn(now, event, { status: 'cancelled' })
    case 'TURN_INTERRUPTED':
      return withEndedTurn(now, event, { status: 'interrupted' })
    case 'SESSION_CLOSED':
      return { ...now, status: 'closed', queued: [] }
    default:
      return session
  }
}

type Body<K extends Event['kind']> = Exclude<Extract<Event, { kind: K }>['body'], { $blob: unknown }>

function withMessage(session: SessionView, { item, from, parts, message, turn }: Body<'MESSAGE_ADDED'>): SessionView {
  const now = { ...session, items: Math.max(session.items, item + 1) }
  if (from === 'assistant') return now
  const isQueued = turn === null && session.status !== 'closed'
  return {
    ...now,
    title: session.title === '' ? titleOf(parts) : session.title,
    queued: isQueued ? [...session.queued, { message, item }] : session.queued,
  }
}

/** The first non-empty line, shortened. */
export function titleOf(parts: readonly MessagePart[]): string {
  const line = parts.flatMap(({ text }) => text.split('\n')).map((text) => text.trim()).find((text) => text !== '')
  return Array.from(line ?? '').slice(0, TITLE_LENGTH).join('')
}

function withStartedTurn(session: SessionView, event: Extract<Event, { kind: 'TURN_STARTED' }>): SessionView {
  const { turn: id, message } = event.body
  const queued = session.queued.filter((waiting) => waiting.message !== message)
  if (session.status === 'closed') return { ...session, queued }
  const turn: TurnView = {
    id, status: 'running', startedAt: event.at, endedAt: null, principal: event.principal, actor: event.actor, calls: 0, usage: NO_USAGE, cost: 0, reason: null, fault: null,
  }
  return { ...session, queued, status: 'running', turn }
}

function withUsage(session: SessionView, body: Body<'USAGE_RECORDED'>): SessionView {
  const { usage, purpose } = body
  return { ...addUsage(session, body), context: purpose === 'answer' ? usage.input + usage.output : 0 }
}

/** Adds what a handed-off task used. */
function withHandoffUsage(session: SessionView, body: Body<'TASK_USED'>): SessionView {
  const { usage, cost } = body
  const { handed } = session
  return {
    ...addUsage(session, body),
    handed: { usage: addTokens(handed.usage, usage), cost: handed.cost + (cost ?? 0), unpriced: handed.unpriced + (cost === null ? 1 : 0) },
  }
}

type Usage = { readonly turn: TurnView['id'] | null; readonly usage: TokenUsage; readonly cost: number | null }

function addUsage(session: SessionView, { turn: id, usage, cost }: Usage): SessionView {
  const { turn } = session
  return {
    ...session,
    usage: addTokens(session.usage, usage),
    cost: session.cost + (cost ?? 0),
    unpriced: session.unpriced + (cost === null ? 1 : 0),
    turn: turn !== null && turn.id === id ? { ...turn, calls: turn.calls + 1, usage: addTokens(turn.usage, usage), cost: turn.cost + (cost ?? 0) } : turn,
  }
}

function addTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cachedInput: a.cachedInput + b.cachedInput,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
  }
}

type TurnEndEvent = Extract<Event, { kind: `TURN_${'FINISHED' | 'FAILED' | 'CANCELLED' | 'INTERRUPTED'}` }>

/** Ends the running turn. Events after its end change nothing. */
function withEndedTurn(session: SessionView, { at, body }: TurnEndEvent, end: Partial<TurnView>): SessionView {
  const { turn } = session
  if (turn === null || turn.id !== body.turn || turn.status !== 'running') return session
  const status = session.status === 'closed' ? 'closed' : end.status === 'interrupted' ? 'interrupted' : 'idle'
  return { ...session, status, turn: { ...turn, endedAt: at, ...end } }
}
