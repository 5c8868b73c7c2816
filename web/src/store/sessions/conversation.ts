/** The conversation of one session, from its documents. Pure. */
import type { ActionView, CommandOutput, CompletionDraft, SessionId, SessionItem, SessionPage, SessionTurn, SessionView, TurnView } from '../../proto/index.ts'
import type { DocumentViews } from '../documents/views.ts'
import { outcomeNotes } from '../timeline/outcome-notes.ts'

/** A conversation. */
export type Conversation = {
  readonly session: SessionView
  /** The items in the order of the conversation; earlier ones may not be loaded. */
  readonly items: readonly SessionItem[]
  /** How many items before these are not loaded. */
  readonly unloaded: number
  /** The turns that have ended, in order. */
  readonly endedTurns: readonly TurnView[]
  readonly draft: CompletionDraft | null
}

/** Details of an action that the items do not hold: output, and what the sandbox did. */
export type ActionDetails = { readonly output: string; readonly notes: readonly string[] }

/** The items of pages and those that were fetched, in the order of the conversation. */
export function conversationItems(pages: Iterable<SessionPage>, fetched: readonly SessionItem[]): readonly SessionItem[] {
  const items = new Map(fetched.map((item) => [item.item, item]))
  for (const page of pages) for (const item of page.items) items.set(item.item, item)
  return [...items.values()].sort(compareItems)
}

/** Compares by turn, whose ids increase with time, then by index. Queued messages come last. */
function compareItems(a: SessionItem, b: SessionItem): number {
  if (a.turn === b.turn) return a.item - b.item
  if (a.turn === null || b.turn === null) return a.turn === null ? 1 : -1
  return a.turn < b.turn ? -1 : 1
}

/** The first number of these items; 0 if there is none. */
export function firstItem(items: readonly SessionItem[]): number {
  return items.reduce((first, { item }) => Math.min(first, item), items[0]?.item ?? 0)
}

/** The turns of a session that have ended, in order. */
export function endedTurns(turns: DocumentViews['turns'], session: SessionId): readonly TurnView[] {
  const ended = [...turns.values()].filter((turn: SessionTurn) => turn.session === session && turn.status !== 'running')
  return ended.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The details of an action, as far as its documents are known. */
export function actionDetails(action: ActionView | undefined, output: CommandOutput | undefined): ActionDetails {
  const omitted = output !== undefined && output.omitted > 0 ? `… ${String(output.omitted)} bytes are not shown …\n` : ''
  return { output: output === undefined ? '' : omitted + output.text, notes: outcomeNotes(action?.outcome?.summary) }
}
