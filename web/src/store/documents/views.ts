/** The documents of the page, by view and key, and how changes are applied to them. Pure. */
import type { AppendedDocument, CommandOutput, CompletionDraft, DocumentAppend, DocumentChange, Documents, DraftToolCall, ViewName } from '../../proto/index.ts'

/** All documents, by view and key. */
export type DocumentViews = { readonly [V in ViewName]: ReadonlyMap<string, Documents[V]> }

/** The key of documents that belong to no project. */
export const NIL_KEY = '00000000-0000-0000-0000-000000000000'

/** No document at all. */
export const NO_DOCUMENTS: DocumentViews = {
  daemon: new Map(),
  projects: new Map(),
  modes: new Map(),
  kernels: new Map(),
  runtimes: new Map(),
  approvals: new Map(),
  grants: new Map(),
  governance: new Map(),
  agentInput: new Map(),
  sessions: new Map(),
  pages: new Map(),
  drafts: new Map(),
  turns: new Map(),
  actions: new Map(),
  outputs: new Map(),
}

/** How many characters of a command's output are kept; the rest is in the timeline. */
const MAX_OUTPUT_LENGTH = 64 * 1024

/**
 * Applies changes in order. Views that do not change stay the same value, so that nothing
 * is redrawn. Views that are newer than this page are skipped.
 */
export function applyChanges(before: DocumentViews, changes: readonly DocumentChange[]): DocumentViews {
  const changed = new Map<ViewName, Map<string, unknown>>()
  for (const change of changes) {
    if (!(change.view in before)) continue
    const documents = changed.get(change.view) ?? new Map<string, unknown>(before[change.view])
    changed.set(change.view, documents)
    if ('append' in change) appendTo(documents, change)
    else if (change.document === null) documents.delete(change.key)
    else documents.set(change.key, change.document)
  }
  return changed.size === 0 ? before : ({ ...before, ...Object.fromEntries(changed) } as DocumentViews)
}

/** Appends text to a document. One that is not there was removed, and so is the text. */
function appendTo(documents: Map<string, unknown>, { view, key, append }: AppendedDocument): void {
  const document = documents.get(key)
  if (document === undefined) return
  documents.set(key, view === 'drafts' ? append.reduce(appendToDraft, document as CompletionDraft) : append.reduce(appendToOutput, document as CommandOutput))
}

function appendToDraft(draft: CompletionDraft, { kind, part, tool, text }: DocumentAppend): CompletionDraft {
  switch (kind) {
    case 'text':
      return { ...draft, text: draft.text + text, retrying: null }
    case 'reasoning':
      return { ...draft, reasoning: draft.reasoning + text, retrying: null }
    case 'tool':
      return { ...draft, calls: appendToCall(draft.calls, part, tool, text), retrying: null }
    case 'output':
      return draft
  }
}

function appendToCall(before: readonly DraftToolCall[], index: number, tool: string | undefined, text: string): DraftToolCall[] {
  const calls = [...before]
  while (calls.length <= index) calls.push({ tool: '', arguments: '' })
  const call = calls[index] ?? { tool: '', arguments: '' }
  calls[index] = { tool: tool ?? call.tool, arguments: call.arguments + text }
  return calls
}

function appendToOutput(output: CommandOutput, { text }: DocumentAppend): CommandOutput {
  const all = output.text + text
  return { ...output, text: all.slice(-MAX_OUTPUT_LENGTH) }
}
