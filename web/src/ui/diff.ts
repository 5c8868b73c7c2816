/**
 * Parses a unified diff into lines with their kinds.
 *
 * A hunk declares its number of lines, and that many are taken as content: text that
 * looks like the header of another file stays text.
 */

/** One line. `old` and `now` are its line numbers before and after the change. */
export type DiffLine = {
  readonly kind: 'file' | 'hunk' | 'add' | 'del' | 'same' | 'note' | 'cut'
  readonly text: string
  readonly old: number | null
  readonly now: number | null
}

/** A parsed diff. In a text without hunks all lines are `same`. */
export type Diff = {
  readonly lines: readonly DiffLine[]
  readonly added: number
  readonly removed: number
}

/** What precedes the name in a line that names a file, and is not a part of it. */
export function fileMark(text: string): '--- ' | '+++ ' | '' {
  if (text.startsWith('--- ')) return '--- '
  return text.startsWith('+++ ') ? '+++ ' : ''
}

/** A line that declares omitted lines. Lines of a file begin with a sign, so they never match. */
const OMITTED = /^… \((?:(\d+) more lines? with `([-+])`|\d+ lines? of this diff)/
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** Parses a diff; see the head of this file. */
export function parseDiff(text: string): Diff {
  const rows = text.split('\n')
  if (rows.at(-1) === '') rows.pop()
  if (!rows.some((row) => HUNK.test(row))) {
    const lines = rows.map((row, index): DiffLine => ({ kind: 'same', text: row, old: null, now: index + 1 }))
    return { lines, added: 0, removed: 0 }
  }
  const parser = new HunkParser()
  const lines = rows.map((row) => parser.parseRow(row))
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length
  return { lines, added: count('add'), removed: count('del') }
}

/** The position in a hunk: the next line numbers, and how many lines remain. */
class HunkParser {
  #old = 0
  #now = 0
  #oldLeft = 0
  #nowLeft = 0

  parseRow(row: string): DiffLine {
    if (row.startsWith('\\')) return { kind: 'note', text: row.slice(1).trim(), old: null, now: null }
    const cut = OMITTED.exec(row)
    if (cut !== null) return this.#skip(row, Number(cut[1] ?? 0), cut[2])
    if (this.#oldLeft > 0 || this.#nowLeft > 0) return this.#parseContent(row)
    const head = HUNK.exec(row)
    if (head === null) return { kind: 'file', text: row, old: null, now: null }
    this.#old = Number(head[1])
    this.#oldLeft = Number(head[2] ?? 1)
    this.#now = Number(head[3])
    this.#nowLeft = Number(head[4] ?? 1)
    return { kind: 'hunk', text: row, old: null, now: null }
  }

  #skip(text: string, count: number, sign: string | undefined): DiffLine {
    if (sign === '-') this.#oldLeft = Math.max(0, this.#oldLeft - count)
    if (sign === '+') this.#nowLeft = Math.max(0, this.#nowLeft - count)
    return { kind: 'cut', text, old: null, now: null }
  }

  #parseContent(row: string): DiffLine {
    const text = row.slice(1)
    if (row.startsWith('+') && this.#nowLeft > 0) {
      this.#nowLeft--
      return { kind: 'add', text, old: null, now: this.#now++ }
    }
    if (row.startsWith('-') && this.#oldLeft > 0) {
      this.#oldLeft--
      return { kind: 'del', text, old: this.#old++, now: null }
    }
    if ((row.startsWith(' ') || row === '') && this.#oldLeft > 0 && this.#nowLeft > 0) {
      this.#oldLeft--
      this.#nowLeft--
      return { kind: 'same', text, old: this.#old++, now: this.#now++ }
    }
    // The hunk does not match its header: show the row as is, and end the hunk.
    this.#oldLeft = 0
    this.#nowLeft = 0
    return { kind: 'note', text: row, old: null, now: null }
  }
}
