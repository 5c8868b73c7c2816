/**
 * The last lines of a growing text. Not reactive: its owner publishes `all()` after
 * each change.
 */

/** One line; its number never changes. */
export type OutputLine = { readonly n: number; readonly text: string }

/** How many lines are kept. */
export const LINE_LIMIT = 2_000
/** How many characters of a line are kept. */
const LENGTH_LIMIT = 8_000

/** See the head of this file. */
export class LineBuffer {
  readonly #limit: number
  #lines: OutputLine[] = []
  #nextNumber = 0
  /** The last line, which has no line break yet. */
  #incomplete = ''

  constructor(limit: number = LINE_LIMIT) {
    this.#limit = limit
  }

  /** How many lines were dropped. */
  get dropped(): number {
    return this.#nextNumber - this.#lines.length
  }

  /** Adds a chunk of text, which may end anywhere. */
  push(text: string): void {
    const parts = (this.#incomplete + text).split('\n')
    this.#incomplete = clip(parts.pop() ?? '')
    for (const part of parts) this.#lines.push({ n: this.#nextNumber++, text: clip(part) })
    if (this.#lines.length > this.#limit) this.#lines = this.#lines.slice(-this.#limit)
  }

  /** All lines, including the incomplete one. */
  all(): readonly OutputLine[] {
    return this.#incomplete === '' ? [...this.#lines] : [...this.#lines, { n: this.#nextNumber, text: this.#incomplete }]
  }

  /** Removes all lines. */
  clear(): void {
    this.#lines = []
    this.#nextNumber = 0
    this.#incomplete = ''
  }
}

/** Shortens a long line and says how much is missing. */
function clip(text: string): string {
  if (text.length <= LENGTH_LIMIT) return text
  return `${text.slice(0, LENGTH_LIMIT)}… (${String(text.length - LENGTH_LIMIT)} more characters)`
}
