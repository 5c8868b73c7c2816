/**
 * The last lines of a text that grows without end. Pure but for its own lines:
 * whoever owns it draws `all()` when something was added.
 */

/** One line; its number never changes. */
export type Line = { readonly n: number; readonly text: string }

/** How many lines are held, and how long one may be. */
export const LINES = 2_000
const LENGTH = 8_000

/** See the head of this file. */
export class Lines {
  readonly #limit: number
  #done: Line[] = []
  #n = 0
  #open = ''

  constructor(limit: number = LINES) {
    this.#limit = limit
  }

  /** How many lines are no longer held. */
  get gone(): number {
    return this.#n - this.#done.length
  }

  /** Adds what was printed next, wherever it is cut. */
  push(text: string): void {
    const parts = (this.#open + text).split('\n')
    this.#open = clipped(parts.pop() ?? '')
    for (const part of parts) this.#done.push({ n: this.#n++, text: clipped(part) })
    if (this.#done.length > this.#limit) this.#done = this.#done.slice(-this.#limit)
  }

  /** The lines, the one that has not ended too. */
  all(): readonly Line[] {
    return this.#open === '' ? [...this.#done] : [...this.#done, { n: this.#n, text: this.#open }]
  }

  /** Forgets everything. */
  clear(): void {
    this.#done = []
    this.#n = 0
    this.#open = ''
  }
}

/** A line that is longer than anyone reads says how much of it is missing. */
function clipped(text: string): string {
  if (text.length <= LENGTH) return text
  return `${text.slice(0, LENGTH)}… (${String(text.length - LENGTH)} more characters)`
}
