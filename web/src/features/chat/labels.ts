/** Descriptions of tool calls, sessions and turns. They may contain text of a model: draw them with `UntrustedText` only. */
import type { SessionItem, ItemContent, SessionView, ToolCallStatus, TurnId, TurnView } from '../../proto/index.ts'

/** A tool call. */
export type ToolCall = Extract<ItemContent, { type: 'tool' }>

type Args = Readonly<Record<string, unknown>>

/** The parsed arguments; empty if they are not a JSON object. */
export function parseArguments(text: string): Args {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Args) : {}
  } catch {
    return {}
  }
}

/** A short description of a call: a verb and its object. */
export function describeCall(tool: string, text: string): { readonly verb: string; readonly object: string } {
  const args = parseArguments(text)
  const path = toText(args['path'])
  switch (tool) {
    case 'fs.readFile':
      return { verb: 'Read', object: `${path}${lineRange(args)}` }
    case 'fs.writeFile':
      return { verb: args['mode'] === 'append' ? 'Append to' : 'Write', object: path }
    case 'fs.editFile':
      return { verb: 'Edit', object: path }
    case 'fs.applyPatch':
      return describePatch(toText(args['patch']))
    case 'fs.listFiles':
      return { verb: 'List', object: path === '' ? 'the project' : path }
    case 'fs.searchFiles':
      return { verb: 'Search for', object: `${toText(args['pattern'])}${path === '' ? '' : ` in ${path}`}` }
    case 'fs.stat':
      return { verb: 'Inspect', object: path }
    case 'fs.createDir':
      return { verb: 'Create folder', object: path }
    case 'fs.moveFile':
      return { verb: 'Move', object: `${toText(args['from'])} to ${toText(args['to'])}` }
    case 'fs.deleteFile':
      return { verb: 'Delete', object: path }
    case 'fs.restoreFile':
      return { verb: 'Put back', object: path }
    case 'terminal.runCommand':
      return { verb: args['background'] === true ? 'Run in the background' : 'Run', object: commandText(args) }
    case 'runtime.run':
      return { verb: 'Start the dev server', object: '' }
    case 'runtime.stop':
      return { verb: 'Stop the dev server', object: '' }
    case 'runtime.restart':
      return { verb: 'Restart the dev server', object: '' }
    case 'runtime.build':
      return { verb: 'Build the project', object: '' }
    case 'handoff':
      return { verb: 'Hand off to', object: toText(args['role']) }
    default:
      return { verb: tool === '' ? 'Tool call' : tool, object: toText(args['id'] ?? args['path'] ?? '') }
  }
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function commandText(args: Args): string {
  const { argv, command } = args as { readonly argv?: unknown; readonly command?: unknown }
  return Array.isArray(argv) ? argv.map(toText).join(' ') : toText(command)
}

function lineRange({ startLine, lineCount }: Args): string {
  if (typeof startLine !== 'number') return ''
  return typeof lineCount === 'number' ? `, ${String(lineCount)} lines from ${String(startLine)}` : `, from line ${String(startLine)}`
}

/** A patch, by its files; those that it deletes come first. */
function describePatch(patch: string): { readonly verb: string; readonly object: string } {
  const heads = [...patch.matchAll(/^--- (?:a\/)?(\S+).*\n\+\+\+ (?:b\/)?(\S+)/gm)]
  const deleted = heads.filter(([, , now]) => now === '/dev/null').map(([, old = '']) => old)
  const changed = heads.filter(([, , now]) => now !== '/dev/null').map(([, , now = '']) => now)
  if (deleted.length === 0) return { verb: 'Apply a patch', object: changed.length === 0 ? '' : `to ${changed.join(', ')}` }
  return { verb: 'Delete by a patch', object: [deleted.join(', '), ...(changed.length === 0 ? [] : [`and change ${changed.join(', ')}`])].join(' ') }
}

/** All arguments with their names. */
export function callParams(text: string): readonly { readonly name: string; readonly value: string }[] {
  const entries = Object.entries(parseArguments(text))
  if (entries.length === 0) return text.trim() === '' || text.trim() === '{}' ? [] : [{ name: 'arguments', value: text }]
  return entries.map(([name, value]) => ({ name, value: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }))
}

/** The diff of a write or an edit, derived from its arguments; null for other calls. */
export function diffFromArguments(tool: string, text: string): string | null {
  const args = parseArguments(text)
  const path = toText(args['path'])
  const head = `--- a/${path}\n+++ b/${path}\n`
  switch (tool) {
    case 'fs.writeFile': {
      const lines = splitLines(toText(args['content']))
      return `${head}@@ -0,0 +1,${String(lines.length)} @@\n${prefixLines('+', lines)}`
    }
    case 'fs.editFile': {
      const edits = Array.isArray(args['edits']) ? (args['edits'] as readonly Args[]) : []
      return edits.length === 0 ? null : head + edits.map((edit) => hunk(toText(edit['old']), toText(edit['new']))).join('')
    }
    case 'fs.applyPatch':
      return toText(args['patch'])
    default:
      return null
  }
}

function hunk(old: string, now: string): string {
  const [before, after] = [splitLines(old), splitLines(now)]
  return `@@ -1,${String(before.length)} +1,${String(after.length)} @@\n${prefixLines('-', before)}${prefixLines('+', after)}`
}

function splitLines(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function prefixLines(sign: string, lines: readonly string[]): string {
  return lines.map((line) => `${sign}${line}\n`).join('')
}

/**
 * Whether the result of a call says that the sandbox did something to it. Output of a program
 * may say so too: this only decides whether the log is asked.
 */
export function mentionsSandboxNotes(output: string): boolean {
  return /^(?:set aside, |note: )/m.test(output)
}

/** The status of a call. */
export type CallStatus = ToolCallStatus | 'pending' | 'running' | 'interrupted'

/** The label of each status. */
export const CALL_STATUS_LABELS: Readonly<Record<CallStatus, string>> = {
  ok: 'Done',
  error: 'Failed',
  denied: 'Denied',
  cancelled: 'Cancelled',
  pending: 'Needs approval',
  running: 'Running',
  interrupted: 'Interrupted',
}

/** Whether a model is a script. */
export function isScripted(model: string): boolean {
  return model.startsWith('script/')
}

/** The title of a session. */
export function sessionTitle({ title }: SessionView): string {
  return title === '' ? 'Empty session' : title
}

/** The label of a session's status; null if it needs none. */
export function sessionStatusLabel({ status, turn }: SessionView): { readonly text: string; readonly tone: 'plain' | 'accent' | 'warn' | 'bad' } | null {
  switch (status) {
    case 'running':
      return { text: 'running', tone: 'accent' }
    case 'interrupted':
      return { text: 'interrupted', tone: 'warn' }
    case 'closed':
      return { text: 'closed', tone: 'plain' }
    case 'idle':
      return turn?.status === 'failed' ? { text: 'failed', tone: 'bad' } : null
  }
}

/** How a turn ended, for display. */
export type TurnEndNotice = { readonly title: string; readonly text: string; readonly retryLabel: string | null; readonly bad: boolean }

/** How a turn ended, or null if it ended normally. `queued` is the number of queued messages. */
export function describeTurnEnd(turn: TurnView, items: readonly SessionItem[], queued = 0): TurnEndNotice | null {
  switch (turn.status) {
    case 'failed':
      return { title: 'The turn failed', text: turn.fault?.message ?? '', retryLabel: 'Try again', bad: true }
    case 'interrupted':
      return { title: 'Interrupted', text: `The daemon stopped during the turn. The conversation up to then is kept.${describeQueued(queued)}`, retryLabel: 'Continue', bad: false }
    case 'cancelled':
      return { title: 'Cancelled', text: `Everything that this turn was running has ended.${describeQueued(queued)}`, retryLabel: 'Continue', bad: false }
    case 'finished':
      if (turn.reason === 'maxTokens') return { title: 'The answer reached the token limit', text: 'Send “continue” for the rest.', retryLabel: null, bad: false }
      if (turn.reason === 'refused') return { title: 'The model declined', text: 'Rephrase the message or choose another model.', retryLabel: null, bad: false }
      if (queued > 0) return { title: 'Stopped', text: describeQueued(queued).trim(), retryLabel: 'Continue', bad: false }
      return describeMissingAnswer(turn.id, items)
    case 'running':
      return null
  }
}

/** A notice if a turn has no answer. */
function describeMissingAnswer(turn: TurnId, items: readonly SessionItem[]): TurnEndNotice | null {
  const last = items.findLast((item) => item.turn === turn && item.content.type !== 'compacted')?.content
  const answered = last?.type === 'message' && last.from === 'assistant' && last.parts.some(({ type, text }) => type !== 'reasoning' && text.trim() !== '')
  if (answered) return null
  return { title: last?.type === 'tool' ? 'The model sent no further answer' : 'The model sent no answer', text: 'Ask it to continue, or rephrase the message.', retryLabel: null, bad: false }
}

/** How the turns before the current one ended, by the index of the item above the notice. */
export function pastTurnEnds(current: TurnId | undefined, ended: readonly TurnView[], items: readonly SessionItem[]): ReadonlyMap<number, readonly TurnEndNotice[]> {
  const ends = new Map<number, readonly TurnEndNotice[]>()
  for (const turn of ended) {
    const end = turn.id === current ? null : describeTurnEnd(turn, items)
    // The notice of a turn without items is placed below the turn before it.
    const index = items.findLast((item) => item.turn !== null && item.turn <= turn.id)?.item
    if (end !== null && index !== undefined) ends.set(index, [...(ends.get(index) ?? []), end])
  }
  return ends
}

/** What happens to queued messages while no turn runs. */
function describeQueued(count: number): string {
  if (count === 0) return ''
  return ` ${count === 1 ? 'Your queued message is' : `Your ${String(count)} queued messages are`} not sent: continue, send another message, or withdraw ${count === 1 ? 'it' : 'them'}.`
}
