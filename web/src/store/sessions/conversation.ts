/**
 * The conversation of one session: a fold that continues from the fetched state. Pure;
 * equal to the daemon's own fold.
 */
import type { ActionId, CompletionDraft, DraftToolCall, Event, SessionItem, OutputChunk, SessionDetail, SessionId, ToolResult, TurnId } from '../../proto/index.ts'
import { outcomeNotes } from '../timeline/outcome-notes.ts'
import { applySessionEvent, type SessionEvent } from './sessions.ts'

/** A conversation as of a seq (`cursor`). */
export type Conversation = SessionDetail

/** Folds one event of the session. Events up to the cursor change nothing. */
export function foldConversation(before: Conversation, event: SessionEvent): Conversation {
  if (event.seq <= before.cursor) return before
  return {
    cursor: event.seq,
    session: applySessionEvent(before.session, event),
    items: foldItems(before.items, event),
    draft: foldDraft(before.draft, event),
  }
}

function foldItems(before: readonly SessionItem[], event: SessionEvent): SessionItem[] {
  const all = before as SessionItem[]
  switch (event.kind) {
    case 'MESSAGE_ADDED': {
      const { item, turn, message, from, parts } = event.body
      return addItem(all, { item, turn, at: event.at, content: { type: 'message', message, from, parts } })
    }
    case 'TOOL_CALLED': {
      const { item, turn, call, tool, arguments: args, action } = event.body
      return addItem(all, { item, turn, at: event.at, content: { type: 'tool', call, tool, arguments: args, action, child: null, result: null } })
    }
    case 'SESSION_COMPACTED': {
      const { item, turn, summary } = event.body
      return addItem(all, { item, turn, at: event.at, content: { type: 'compacted', summary } })
    }
    case 'TURN_STARTED': {
      const { item: index, turn } = event.body
      return index === null ? all : sorted(updateItem(all, index, (item) => ({ ...item, turn: item.turn ?? turn })))
    }
    case 'MESSAGE_WITHDRAWN': {
      const { item: index } = event.body
      return all.filter(({ item, turn }) => item !== index || turn !== null)
    }
    case 'TOOL_RETURNED': {
      const { item, status, output } = event.body
      return withToolResult(all, item, { status, output, at: event.at })
    }
    case 'HANDED_OFF': {
      const { item: index, to } = event.body
      return updateItem(all, index, (item) => (item.content.type === 'tool' ? { ...item, content: { ...item.content, child: to } } : item))
    }
    default:
      return all
  }
}

/** Adds an item; of two items with the same index the first stays. */
function addItem(all: SessionItem[], item: SessionItem): SessionItem[] {
  const last = all.at(-1)
  if (last === undefined || (last.item < item.item && compareItems(last, item) < 0)) return [...all, item]
  if (all.some((known) => known.item === item.item)) return all
  return sorted([...all, item])
}

/** Sorts by conversation order: a message that was sent during a turn comes after it. */
function sorted(all: SessionItem[]): SessionItem[] {
  return all.every((item, index) => index === 0 || compareItems(all[index - 1] as SessionItem, item) < 0) ? all : all.toSorted(compareItems)
}

/** Compares by turn, whose ids increase with time, then by index. Queued messages come last. */
function compareItems(a: SessionItem, b: SessionItem): number {
  if (a.turn === b.turn) return a.item - b.item
  if (a.turn === null || b.turn === null) return a.turn === null ? 1 : -1
  return a.turn < b.turn ? -1 : 1
}

function updateItem(all: SessionItem[], index: number, change: (item: SessionItem) => SessionItem): SessionItem[] {
  const position = all.findLastIndex((item) => item.item === index)
  const item = all[position]
  return item === undefined ? all : all.with(position, change(item))
}

function withToolResult(all: SessionItem[], index: number, result: ToolResult): SessionItem[] {
  return updateItem(all, index, (item) => {
    const { content } = item
    return content.type === 'tool' && content.result === null ? { ...item, content: { ...content, result } } : item
  })
}

function foldDraft(before: CompletionDraft | null, event: SessionEvent): CompletionDraft | null {
  const { session } = event.body
  switch (event.kind) {
    case 'TURN_STARTED':
    case 'ATTEMPT_RESTARTED':
      return emptyDraft(session, event.body.turn)
    case 'TEXT_DELTA': {
      const draft = draftOf(before, event.body)
      return { ...draft, text: draft.text + event.body.text, retrying: null }
    }
    case 'REASONING_DELTA': {
      const draft = draftOf(before, event.body)
      return { ...draft, reasoning: draft.reasoning + event.body.text, retrying: null }
    }
    case 'TOOL_DELTA': {
      const draft = draftOf(before, event.body)
      const { index, tool, text } = event.body
      return { ...draft, calls: appendToCall(draft.calls, index, tool, text), retrying: null }
    }
    case 'ATTEMPT_FAILED': {
      const { attempt, retryInMs, why } = event.body
      return { ...draftOf(before, event.body), retrying: { attempt, at: event.at + retryInMs * 1000, why } }
    }
    case 'MESSAGE_ADDED':
      // The draft has become a message.
      if (event.body.from === 'user') return before
      return before === null ? null : emptyDraft(session, event.body.turn ?? before.turn)
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

function draftOf(before: CompletionDraft | null, { session, turn }: { readonly session: SessionId; readonly turn: TurnId }): CompletionDraft {
  return before?.turn === turn ? before : emptyDraft(session, turn)
}

function emptyDraft(session: SessionId, turn: TurnId): CompletionDraft {
  return { session, turn, reasoning: '', text: '', calls: [], retrying: null }
}

function appendToCall(before: readonly DraftToolCall[], index: number, tool: string | undefined, text: string): DraftToolCall[] {
  const calls = [...before]
  while (calls.length <= index) calls.push({ tool: '', arguments: '' })
  const call = calls[index] ?? { tool: '', arguments: '' }
  calls[index] = { tool: tool ?? call.tool, arguments: call.arguments + text }
  return calls
}

/** Details of the conversation's actions that its items do not hold: output, diff, and what the sandbox did. */
export type ActionDetails = ReadonlyMap<ActionId, { readonly output: string; readonly diff: string | null; readonly notes: readonly string[] }>

/** How many characters of an action's output are kept; the rest is in the timeline. */
const OUTPUT_LIMIT = 64 * 1024

/** Folds one event, if it is about an action that `includes` accepts. */
export function foldActionDetails(before: ActionDetails, event: Event, includes: (action: ActionId) => boolean): ActionDetails {
  if (event.kind !== 'ACTION_OUTPUT' && event.kind !== 'APPROVAL_ASKED' && event.kind !== 'ACTION_FINISHED') return before
  if ('$blob' in event.body || !includes(event.body.action)) return before
  const details = before.get(event.body.action) ?? { output: '', diff: null, notes: [] }
  if (event.kind === 'APPROVAL_ASKED') {
    return new Map(before).set(event.body.action, { ...details, diff: event.body.question.diff ?? details.diff })
  }
  if (event.kind === 'ACTION_FINISHED') {
    const notes = outcomeNotes(event.body.outcome.summary)
    return notes.length === 0 ? before : new Map(before).set(event.body.action, { ...details, notes })
  }
  const output = details.output + textOf(event.body.output)
  return new Map(before).set(event.body.action, { ...details, output: output.slice(-OUTPUT_LIMIT) })
}

function textOf({ data, dropped }: OutputChunk): string {
  const gap = dropped > 0 ? `… ${String(dropped)} bytes were dropped …\n` : ''
  if ('text' in data) return gap + data.text
  return `${gap}… ${String('hex' in data ? data.hex.length / 2 : data.blob.size)} bytes not shown here …\n`
}
