/** Short messages that are no part of the log: what went wrong, what needed no doing. */

/** One message. */
export type Notice = { readonly id: number; readonly tone: 'info' | 'error'; readonly text: string }

const INFO_MS = 5_000
const MOST = 4

/** The messages on screen. Errors stay until they are put away. */
export class Notices {
  #list = $state.raw<readonly Notice[]>([])
  #next = 1

  /** Oldest first. */
  get list(): readonly Notice[] {
    return this.#list
  }

  /** Says something. */
  add(tone: Notice['tone'], text: string): void {
    const id = this.#next++
    this.#list = [...this.#list, { id, tone, text }].slice(-MOST)
    if (tone === 'info') setTimeout(() => this.dismiss(id), INFO_MS)
  }

  /** Puts one away. */
  dismiss(id: number): void {
    this.#list = this.#list.filter((notice) => notice.id !== id)
  }
}
