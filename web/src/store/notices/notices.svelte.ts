/** Short messages that are not part of the log, such as errors of commands. */

/** One message. */
export type Notice = { readonly id: number; readonly tone: 'info' | 'error'; readonly text: string }

const INFO_MS = 5_000
const MAX_NOTICES = 4

/** The messages on screen. Errors stay until they are dismissed. */
export class Notices {
  #list = $state.raw<readonly Notice[]>([])
  #nextId = 1

  /** The messages, oldest first. */
  get list(): readonly Notice[] {
    return this.#list
  }

  /** Shows a message. */
  add(tone: Notice['tone'], text: string): void {
    const id = this.#nextId++
    this.#list = [...this.#list, { id, tone, text }].slice(-MAX_NOTICES)
    if (tone === 'info') setTimeout(() => this.dismiss(id), INFO_MS)
  }

  /** Removes a message. */
  dismiss(id: number): void {
    this.#list = this.#list.filter((notice) => notice.id !== id)
  }
}
