/**
 * Suppresses replies of xterm.js to queries of programs.
 *
 * Programs query their terminal, for example for its type or cursor position. The
 * kernel replies once. If every window replied too, the replies would appear as typed
 * text, and replayed queries would be answered again. Clipboard access is suppressed
 * as well.
 */
import type { IFunctionIdentifier, IParser } from '@xterm/xterm'

/** Device attributes, status reports, modes, version and keyboard queries. */
const QUERIES: readonly IFunctionIdentifier[] = [
  { final: 'c' },
  { prefix: '>', final: 'c' },
  { prefix: '=', final: 'c' },
  { final: 'n' },
  { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' },
  { prefix: '?', intermediates: '$', final: 'p' },
  { prefix: '>', final: 'q' },
  { prefix: '?', final: 'u' },
]

/** Window operations that query; the others push and pop the title. */
const WINDOW_QUERIES: ReadonlySet<number> = new Set([11, 13, 14, 15, 16, 18, 19, 20, 21])

/** OSC codes that set colors, or query them with `?`. */
const COLOR_CODES = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 19] as const

/** Registers handlers that swallow the queries. Handlers that were added last run first. */
export function suppressReplies(parser: IParser): void {
  for (const query of QUERIES) parser.registerCsiHandler(query, () => true)
  parser.registerCsiHandler({ final: 't' }, ([first]) => typeof first === 'number' && WINDOW_QUERIES.has(first))
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true)
  parser.registerDcsHandler({ intermediates: '+', final: 'q' }, () => true)
  for (const code of COLOR_CODES) parser.registerOscHandler(code, (data) => data.split(';').includes('?'))
  // OSC 52 would access the clipboard.
  parser.registerOscHandler(52, () => true)
}
