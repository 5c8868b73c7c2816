/**
 * Parses program output with ANSI sequences into runs of styled text.
 *
 * Only colors and text styles are kept; all other control sequences are dropped. Pure.
 */

/** A run of text with one style. Colors are 0 to 15, or a CSS color. */
export type AnsiRun = {
  readonly text: string
  readonly fg: number | string | null
  readonly bg: number | string | null
  readonly bold: boolean
  readonly dim: boolean
  readonly italic: boolean
  readonly underline: boolean
}

type AnsiStyle = Omit<AnsiRun, 'text'>

const PLAIN: AnsiStyle = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false }

/** SGR sequences (group 1), other terminal sequences, and control characters except the tab. */
const SEQUENCE = /\x1b\[([\d;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f]/g

/** The runs of one line. After a carriage return only the last text is kept. */
export function parseAnsi(line: string): readonly AnsiRun[] {
  const drawn = line.replace(/\r+$/, '')
  const text = drawn.slice(drawn.lastIndexOf('\r') + 1)
  const out: AnsiRun[] = []
  let style = PLAIN
  let from = 0
  const add = (until: number): void => {
    if (until > from) out.push({ ...style, text: text.slice(from, until) })
  }
  for (const match of text.matchAll(SEQUENCE)) {
    add(match.index)
    from = match.index + match[0].length
    if (match[1] !== undefined) style = applySgr(style, match[1])
  }
  add(text.length)
  return out
}

function applySgr(style: AnsiStyle, codes: string): AnsiStyle {
  const numbers = codes === '' ? [0] : codes.split(/[;:]/).map(Number)
  let next = style
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0
    if (code === 38 || code === 48) {
      const { color, used } = extendedColor(numbers.slice(index + 1))
      next = code === 38 ? { ...next, fg: color } : { ...next, bg: color }
      index += used
    } else next = applySgrCode(next, code)
  }
  return next
}

function applySgrCode(style: AnsiStyle, code: number): AnsiStyle {
  if (code === 0) return PLAIN
  if (code === 1) return { ...style, bold: true }
  if (code === 2) return { ...style, dim: true }
  if (code === 3) return { ...style, italic: true }
  if (code === 4) return { ...style, underline: true }
  if (code === 22) return { ...style, bold: false, dim: false }
  if (code === 23) return { ...style, italic: false }
  if (code === 24) return { ...style, underline: false }
  if (code >= 30 && code <= 37) return { ...style, fg: code - 30 }
  if (code === 39) return { ...style, fg: null }
  if (code >= 40 && code <= 47) return { ...style, bg: code - 40 }
  if (code === 49) return { ...style, bg: null }
  if (code >= 90 && code <= 97) return { ...style, fg: code - 82 }
  if (code >= 100 && code <= 107) return { ...style, bg: code - 92 }
  return style
}

function extendedColor([kind, a = 0, b = 0, c = 0]: readonly number[]): { readonly color: number | string | null; readonly used: number } {
  if (kind === 2) return { color: `rgb(${String(a)} ${String(b)} ${String(c)})`, used: 4 }
  if (kind !== 5) return { color: null, used: 1 }
  if (a < 16) return { color: a, used: 2 }
  if (a >= 232) return { color: `rgb(${grey(a)} ${grey(a)} ${grey(a)})`, used: 2 }
  const level = (n: number): string => String(n === 0 ? 0 : 55 + n * 40)
  const n = a - 16
  return { color: `rgb(${level(Math.floor(n / 36))} ${level(Math.floor(n / 6) % 6)} ${level(n % 6)})`, used: 2 }
}

function grey(n: number): string {
  return String(8 + (n - 232) * 10)
}
