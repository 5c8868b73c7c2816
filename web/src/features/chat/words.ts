/** What a model calls and what sessions cost, in words. Texts may be a model's: draw them with `Text` only. */
import type { SessionItem, ItemContent, SessionView, ToolCallStatus, TurnId, TurnView } from '../../proto/index.ts'

/** A call of a tool. */
export type Call = Extract<ItemContent, { type: 'tool' }>

type Args = Readonly<Record<string, unknown>>

/** The arguments as a value; what is no object is none. */
export function argsOf(text: string): Args {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Args) : {}
  } catch {
    return {}
  }
}

/** What is called, in a few plain words: a verb, and on what. */
export function callSaid(tool: string, text: string): { readonly verb: string; readonly what: string } {
  const args = argsOf(text)
  const path = said(args['path'])
  switch (tool) {
    case 'fs.readFile':
      return { verb: 'Read', what: `${path}${linesOf(args)}` }
    case 'fs.writeFile':
      return { verb: args['mode'] === 'append' ? 'Append to' : 'Write', what: path }
    case 'fs.editFile':
      return { verb: 'Edit', what: path }
    case 'fs.applyPatch':
      return { verb: 'Apply a patch', what: patched(said(args['patch'])) }
    case 'fs.listFiles':
      return { verb: 'List', what: path === '' ? 'the project' : path }
    case 'fs.searchFiles':
      return { verb: 'Search for', what: `${said(args['pattern'])}${path === '' ? '' : ` in ${path}`}` }
    case 'fs.stat':
      return { verb: 'Look at', what: path }
    case 'fs.createDir':
      return { verb: 'Make the folder', what: path }
    case 'fs.moveFile':
      return { verb: 'Move', what: `${said(args['from'])} to ${said(args['to'])}` }
    case 'fs.deleteFile':
      return { verb: 'Delete', what: path }
    case 'terminal.runCommand':
      return { verb: args['background'] === true ? 'Run in the background' : 'Run', what: commandOf(args) }
    case 'runtime.run':
      return { verb: 'Start the dev server', what: '' }
    case 'runtime.stop':
      return { verb: 'Stop the dev server', what: '' }
    case 'runtime.restart':
      return { verb: 'Restart the dev server', what: '' }
    case 'runtime.build':
      return { verb: 'Build the project', what: '' }
    case 'handoff':
      return { verb: 'Hand over to', what: said(args['role']) }
    default:
      return { verb: tool === '' ? 'A call' : tool, what: said(args['id'] ?? args['path'] ?? '') }
  }
}

function said(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function commandOf(args: Args): string {
  const { argv, command } = args as { readonly argv?: unknown; readonly command?: unknown }
  return Array.isArray(argv) ? argv.map(said).join(' ') : said(command)
}

function linesOf({ startLine, lineCount }: Args): string {
  if (typeof startLine !== 'number') return ''
  return typeof lineCount === 'number' ? `, ${String(lineCount)} lines from ${String(startLine)}` : `, from line ${String(startLine)}`
}

function patched(patch: string): string {
  const files = [...patch.matchAll(/^\+\+\+ (?:b\/)?(\S+)/gm)].map(([, file = '']) => file)
  return files.length === 0 ? '' : `to ${files.join(', ')}`
}

/** The arguments, each with its name, for those who want all of it. */
export function paramsOf(text: string): readonly { readonly name: string; readonly value: string }[] {
  const entries = Object.entries(argsOf(text))
  if (entries.length === 0) return text.trim() === '' || text.trim() === '{}' ? [] : [{ name: 'arguments', value: text }]
  return entries.map(([name, value]) => ({ name, value: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }))
}

/** What a write or an edit changes, as far as its arguments tell; null for other calls. */
export function changeOf(tool: string, text: string): string | null {
  const args = argsOf(text)
  const path = said(args['path'])
  const head = `--- a/${path}\n+++ b/${path}\n`
  switch (tool) {
    case 'fs.writeFile': {
      const lines = body(said(args['content']))
      return `${head}@@ -0,0 +1,${String(lines.length)} @@\n${marked('+', lines)}`
    }
    case 'fs.editFile': {
      const edits = Array.isArray(args['edits']) ? (args['edits'] as readonly Args[]) : []
      return edits.length === 0 ? null : head + edits.map((edit) => hunk(said(edit['old']), said(edit['new']))).join('')
    }
    case 'fs.applyPatch':
      return said(args['patch'])
    default:
      return null
  }
}

function hunk(old: string, now: string): string {
  const [before, after] = [body(old), body(now)]
  return `@@ -1,${String(before.length)} +1,${String(after.length)} @@\n${marked('-', before)}${marked('+', after)}`
}

function body(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function marked(sign: string, lines: readonly string[]): string {
  return lines.map((line) => `${sign}${line}\n`).join('')
}

/** How a call stands. */
export type CallStanding = ToolCallStatus | 'waits' | 'runs' | 'stopped'

/** The word for it. */
export const STANDING: Readonly<Record<CallStanding, string>> = {
  ok: 'Done',
  error: 'Failed',
  denied: 'Denied',
  cancelled: 'Cancelled',
  waits: 'Waits for you',
  runs: 'Runs',
  stopped: 'Cut off',
}

/** Whether a model is a conversation that was written down before. */
export function isScripted(model: string): boolean {
  return model.startsWith('script/')
}

/** What a session is called in lists. */
export function nameOf({ title }: SessionView): string {
  return title === '' ? 'Nothing said yet' : title
}

/** How a session stands, in a word; null when there is nothing to tell. */
export function standingOf({ status, turn }: SessionView): { readonly word: string; readonly tone: 'plain' | 'accent' | 'warn' | 'bad' } | null {
  switch (status) {
    case 'running':
      return { word: 'runs', tone: 'accent' }
    case 'interrupted':
      return { word: 'cut off', tone: 'warn' }
    case 'closed':
      return { word: 'closed', tone: 'plain' }
    case 'idle':
      return turn?.status === 'failed' ? { word: 'failed', tone: 'bad' } : null
  }
}

/** How a turn ended. */
export type End = { readonly title: string; readonly text: string; readonly again: string | null; readonly bad: boolean }

/** How a turn of these items ended, if that must be told, with so many messages waiting. */
export function endSaid(turn: TurnView, items: readonly SessionItem[], waiting = 0): End | null {
  switch (turn.status) {
    case 'failed':
      return { title: 'The turn failed', text: turn.fault?.message ?? '', again: 'Try again', bad: true }
    case 'interrupted':
      return { title: 'Cut off', text: `The daemon ended while the model spoke. What was said is kept.${heldSaid(waiting)}`, again: 'Continue', bad: false }
    case 'cancelled':
      return { title: 'Cancelled', text: `Nothing of this turn runs any more.${heldSaid(waiting)}`, again: 'Continue', bad: false }
    case 'finished':
      if (turn.reason === 'maxTokens') return { title: 'The answer is as long as it may be', text: 'Say “go on” for the rest.', again: null, bad: false }
      if (turn.reason === 'refused') return { title: 'The model declined', text: 'Say it in other words, or choose another model.', again: null, bad: false }
      if (waiting > 0) return { title: 'Stopped', text: heldSaid(waiting).trim(), again: 'Continue', bad: false }
      return silent(turn.id, items)
    case 'running':
      return null
  }
}

/** That a turn brought no answer, if so. */
function silent(turn: TurnId, items: readonly SessionItem[]): End | null {
  const last = items.findLast((item) => item.turn === turn && item.content.type !== 'compacted')?.content
  const said = last?.type === 'message' && last.from === 'assistant' && last.parts.some(({ type, text }) => type !== 'reasoning' && text.trim() !== '')
  if (said) return null
  return { title: last?.type === 'tool' ? 'The model said nothing more' : 'The model said nothing', text: 'Ask it to go on, or say it in other words.', again: null, bad: false }
}

/** How the turns before the current one ended, each below the place of its last item. */
export function endsBefore(current: TurnId | undefined, ended: readonly TurnView[], items: readonly SessionItem[]): ReadonlyMap<number, readonly End[]> {
  const ends = new Map<number, readonly End[]>()
  for (const turn of ended) {
    const end = turn.id === current ? null : endSaid(turn, items)
    // A turn of which nothing came stands below the one before it.
    const place = items.findLast((item) => item.turn !== null && item.turn <= turn.id)?.item
    if (end !== null && place !== undefined) ends.set(place, [...(ends.get(place) ?? []), end])
  }
  return ends
}

/** What becomes of messages that wait while no turn goes on. */
function heldSaid(waiting: number): string {
  if (waiting === 0) return ''
  return ` ${waiting === 1 ? 'Your message below is' : `Your ${String(waiting)} messages below are`} not sent: continue, say something, or take ${waiting === 1 ? 'it' : 'them'} back.`
}
