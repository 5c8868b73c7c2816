/**
 * What is said in one session: a pure fold that goes on from where the daemon told
 * it, and says the same as the daemon's own.
 */
import type { ActionId, CompletionDraft, DraftToolCall, Event, SessionItem, OutputChunk, SessionDetail, SessionId, ToolResult, TurnId } from '../../proto/index.ts'
import { changed, type TalkEvent } from './sessions.ts'

/** A conversation at one place in the log. */
export type Conversation = SessionDetail

/** Folds one event of the session whose body is here. What was told before changes nothing. */
export function foldTalk(before: Conversation, event: TalkEvent): Conversation {
  if (event.seq <= before.cursor) return before
  return {
    cursor: event.seq,
    session: changed(before.session, event),
    items: items(before.items, event),
    draft: draft(before.draft, event),
  }
}

function items(before: readonly SessionItem[], event: TalkEvent): SessionItem[] {
  const all = before as SessionItem[]
  switch (event.kind) {
    case 'MESSAGE_ADDED': {
      const { item, turn, message, from, parts } = event.body
      return added(all, { item, turn, at: event.at, content: { type: 'message', message, from, parts } })
    }
    case 'TOOL_CALLED': {
      const { item, turn, call, tool, arguments: args, action } = event.body
      return added(all, { item, turn, at: event.at, content: { type: 'tool', call, tool, arguments: args, action, child: null, result: null } })
    }
    case 'SESSION_COMPACTED': {
      const { item, turn, summary } = event.body
      return added(all, { item, turn, at: event.at, content: { type: 'compacted', summary } })
    }
    case 'TURN_STARTED': {
      const { item: place, turn } = event.body
      return place === null ? all : ordered(at(all, place, (item) => ({ ...item, turn: item.turn ?? turn })))
    }
    case 'MESSAGE_WITHDRAWN': {
      const { item: place } = event.body
      return all.filter(({ item, turn }) => item !== place || turn !== null)
    }
    case 'TOOL_RETURNED': {
      const { item, status, output } = event.body
      return returned(all, item, { status, output, at: event.at })
    }
    case 'HANDED_OFF': {
      const { item: place, to } = event.body
      return at(all, place, (item) => (item.content.type === 'tool' ? { ...item, content: { ...item.content, child: to } } : item))
    }
    default:
      return all
  }
}

/** The same place twice: what came first stays. */
function added(all: SessionItem[], item: SessionItem): SessionItem[] {
  const last = all.at(-1)
  if (last === undefined || (last.item < item.item && inOrder(last, item) < 0)) return [...all, item]
  if (all.some((known) => known.item === item.item)) return all
  return ordered([...all, item])
}

/** In the order of the conversation: what was said while a turn went on was heard after it. */
function ordered(all: SessionItem[]): SessionItem[] {
  return all.every((item, index) => index === 0 || inOrder(all[index - 1] as SessionItem, item) < 0) ? all : all.toSorted(inOrder)
}

/** Turn by turn, whose names rise with time; what waits for its turn comes last. */
function inOrder(a: SessionItem, b: SessionItem): number {
  if (a.turn === b.turn) return a.item - b.item
  if (a.turn === null || b.turn === null) return a.turn === null ? 1 : -1
  return a.turn < b.turn ? -1 : 1
}

function at(all: SessionItem[], place: number, change: (item: SessionItem) => SessionItem): SessionItem[] {
  const index = all.findLastIndex((item) => item.item === place)
  const item = all[index]
  return item === undefined ? all : all.with(index, change(item))
}

function returned(all: SessionItem[], place: number, result: ToolResult): SessionItem[] {
  return at(all, place, (item) => {
    const { content } = item
    return content.type === 'tool' && content.result === null ? { ...item, content: { ...content, result } } : item
  })
}

function draft(before: CompletionDraft | null, event: TalkEvent): CompletionDraft | null {
  const { session } = event.body
  switch (event.kind) {
    case 'TURN_STARTED':
    case 'ATTEMPT_RESTARTED':
      return empty(session, event.body.turn)
    case 'TEXT_DELTA': {
      const was = of(before, event.body)
      return { ...was, text: was.text + event.body.text, retrying: null }
    }
    case 'REASONING_DELTA': {
      const was = of(before, event.body)
      return { ...was, reasoning: was.reasoning + event.body.text, retrying: null }
    }
    case 'TOOL_DELTA': {
      const was = of(before, event.body)
      const { index, tool, text } = event.body
      return { ...was, calls: written(was.calls, index, tool, text), retrying: null }
    }
    case 'ATTEMPT_FAILED': {
      const { attempt, retryInMs, why } = event.body
      return { ...of(before, event.body), retrying: { attempt, at: event.at + retryInMs * 1000, why } }
    }
    case 'MESSAGE_ADDED':
      // What was being said is said.
      if (event.body.from === 'user') return before
      return before === null ? null : empty(session, event.body.turn ?? before.turn)
    case 'TURN_FINISHED':
    case 'TURN_FAILED':
    case 'TURN_CANCELLED':
    case 'TURN_INTERRUPTED':
    case 'SESSION_CLOSED':
      return null
    default:
      return before
  }
}

function of(before: CompletionDraft | null, { session, turn }: { readonly session: SessionId; readonly turn: TurnId }): CompletionDraft {
  return before?.turn === turn ? before : empty(session, turn)
}

function empty(session: SessionId, turn: TurnId): CompletionDraft {
  return { session, turn, reasoning: '', text: '', calls: [], retrying: null }
}

function written(before: readonly DraftToolCall[], index: number, tool: string | undefined, text: string): DraftToolCall[] {
  const calls = [...before]
  while (calls.length <= index) calls.push({ tool: '', arguments: '' })
  const was = calls[index] ?? { tool: '', arguments: '' }
  calls[index] = { tool: tool ?? was.tool, arguments: was.arguments + text }
  return calls
}

/** What the log tells of an action beside the conversation: what it printed, what it changes. */
export type Deeds = ReadonlyMap<ActionId, { readonly printed: string; readonly diff: string | null }>

/** How much of what an action printed is kept; the rest is in the timeline. */
const PRINTED = 64 * 1024

/** Folds an event about actions, if it is about one of these. */
export function foldDeeds(before: Deeds, event: Event, of: (action: ActionId) => boolean): Deeds {
  if (event.kind !== 'ACTION_OUTPUT' && event.kind !== 'APPROVAL_ASKED') return before
  if ('$blob' in event.body || !of(event.body.action)) return before
  const was = before.get(event.body.action) ?? { printed: '', diff: null }
  if (event.kind === 'APPROVAL_ASKED') {
    return new Map(before).set(event.body.action, { ...was, diff: event.body.question.diff ?? was.diff })
  }
  const printed = was.printed + textOf(event.body.output)
  return new Map(before).set(event.body.action, { ...was, printed: printed.slice(-PRINTED) })
}

function textOf({ data, dropped }: OutputChunk): string {
  const gap = dropped > 0 ? `… ${String(dropped)} bytes were dropped …\n` : ''
  if ('text' in data) return gap + data.text
  return `${gap}… ${String('hex' in data ? data.hex.length / 2 : data.blob.size)} bytes that are not shown here …\n`
}
