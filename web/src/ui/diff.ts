/**
 * Reads a unified diff into lines, each with what it is.
 *
 * A hunk says how many lines it has, and that many are taken as they come: a
 * file whose text looks like the head of another file stays text.
 */

/** One line. `old` and `now` are its numbers in the file before and after. */
export type DiffLine = {
  readonly kind: 'file' | 'hunk' | 'add' | 'del' | 'same' | 'note' | 'cut'
  readonly text: string
  readonly old: number | null
  readonly now: number | null
}

/** A diff, or a text that is none: then all of it is `same`. */
export type Diff = {
  readonly lines: readonly DiffLine[]
  readonly added: number
  readonly removed: number
}

/** Lines that the diff itself says it leaves out. No line of a file begins so: those have a sign. */
const CUT = /^… \((?:(\d+) more lines? with `([-+])`|\d+ lines? of this diff)/
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** Reads a diff; see the head of this file. */
export function parseDiff(text: string): Diff {
  const rows = text.split('\n')
  if (rows.at(-1) === '') rows.pop()
  if (!rows.some((row) => HUNK.test(row))) {
    const lines = rows.map((row, index): DiffLine => ({ kind: 'same', text: row, old: null, now: index + 1 }))
    return { lines, added: 0, removed: 0 }
  }
  const hunk = new Hunk()
  const lines = rows.map((row) => hunk.take(row))
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length
  return { lines, added: count('add'), removed: count('del') }
}

/** Where in a hunk we are: the next numbers, and how many lines are to come. */
class Hunk {
  #old = 0
  #now = 0
  #oldLeft = 0
  #nowLeft = 0

  take(row: string): DiffLine {
    if (row.startsWith('\\')) return { kind: 'note', text: row.slice(1).trim(), old: null, now: null }
    const cut = CUT.exec(row)
    if (cut !== null) return this.#skip(row, Number(cut[1] ?? 0), cut[2])
    if (this.#oldLeft > 0 || this.#nowLeft > 0) return this.#inside(row)
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

  #inside(row: string): DiffLine {
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
    // Not what the hunk promised: shown whole, and nothing after it is counted on.
    this.#oldLeft = 0
    this.#nowLeft = 0
    return { kind: 'note', text: row, old: null, now: null }
  }
}
