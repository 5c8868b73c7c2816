/**
 * What programs print, as runs of text with colors.
 *
 * Only colors and weights are kept; everything else that would steer a terminal
 * is dropped, so that a line is a line. Pure.
 */

/** A run of one look. Colors are 0 to 15, or a CSS color. */
export type Run = {
  readonly text: string
  readonly fg: number | string | null
  readonly bg: number | string | null
  readonly bold: boolean
  readonly dim: boolean
  readonly italic: boolean
  readonly underline: boolean
}

type Look = Omit<Run, 'text'>

const PLAIN: Look = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false }

/** Colors and weights (1), other sequences of a terminal, and controls but the tab. */
const SEQUENCE = /\x1b\[([\d;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f]/g

/** The runs of one line. A line that was drawn over shows what was drawn last. */
export function runs(line: string): readonly Run[] {
  const drawn = line.replace(/\r+$/, '')
  const text = drawn.slice(drawn.lastIndexOf('\r') + 1)
  const out: Run[] = []
  let look = PLAIN
  let from = 0
  const add = (until: number): void => {
    if (until > from) out.push({ ...look, text: text.slice(from, until) })
  }
  for (const match of text.matchAll(SEQUENCE)) {
    add(match.index)
    from = match.index + match[0].length
    if (match[1] !== undefined) look = changed(look, match[1])
  }
  add(text.length)
  return out
}

function changed(look: Look, codes: string): Look {
  const numbers = codes === '' ? [0] : codes.split(/[;:]/).map(Number)
  let next = look
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0
    if (code === 38 || code === 48) {
      const { color, used } = extended(numbers.slice(index + 1))
      next = code === 38 ? { ...next, fg: color } : { ...next, bg: color }
      index += used
    } else next = simple(next, code)
  }
  return next
}

function simple(look: Look, code: number): Look {
  if (code === 0) return PLAIN
  if (code === 1) return { ...look, bold: true }
  if (code === 2) return { ...look, dim: true }
  if (code === 3) return { ...look, italic: true }
  if (code === 4) return { ...look, underline: true }
  if (code === 22) return { ...look, bold: false, dim: false }
  if (code === 23) return { ...look, italic: false }
  if (code === 24) return { ...look, underline: false }
  if (code >= 30 && code <= 37) return { ...look, fg: code - 30 }
  if (code === 39) return { ...look, fg: null }
  if (code >= 40 && code <= 47) return { ...look, bg: code - 40 }
  if (code === 49) return { ...look, bg: null }
  if (code >= 90 && code <= 97) return { ...look, fg: code - 82 }
  if (code >= 100 && code <= 107) return { ...look, bg: code - 92 }
  return look
}

function extended([kind, a = 0, b = 0, c = 0]: readonly number[]): { readonly color: number | string | null; readonly used: number } {
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
