/**
 * Keeps this terminal from answering.
 *
 * Programs ask their terminal who it is and where its cursor stands. The kernel
 * answers, once; if every window did too, the answers would appear as typed
 * text, and what is replayed would be answered again. Nothing here reaches the
 * clipboard either.
 */
import type { IFunctionIdentifier, IParser } from '@xterm/xterm'

/** Device attributes, status reports, modes, version, and reports of the window. */
const QUESTIONS: readonly IFunctionIdentifier[] = [
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

/** Window operations that ask; the others move a title to a stack and back. */
const REPORTS: ReadonlySet<number> = new Set([11, 13, 14, 15, 16, 18, 19, 20, 21])

/** Sets or asks for colors, one of which is asked for with `?`. */
const COLORS = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 19] as const

/** Silences a parser. Handlers that were added last are asked first. */
export function silence(parser: IParser): void {
  for (const question of QUESTIONS) parser.registerCsiHandler(question, () => true)
  parser.registerCsiHandler({ final: 't' }, ([first]) => typeof first === 'number' && REPORTS.has(first))
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true)
  parser.registerDcsHandler({ intermediates: '+', final: 'q' }, () => true)
  for (const code of COLORS) parser.registerOscHandler(code, (data) => data.split(';').includes('?'))
  // The clipboard is the person's.
  parser.registerOscHandler(52, () => true)
}
