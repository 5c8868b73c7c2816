/** What keys do, as in Jupyter. Pure: the controller does it. */

/** What a key asks for. */
export type NotebookKeyAction =
  | 'edit' | 'command' | 'next' | 'previous' | 'above' | 'below' | 'markdown' | 'code' | 'raw' | 'delete' | 'restore' | 'run' | 'runAndAdvance' | 'runAndInsert' | 'moveUp' | 'moveDown' | 'interrupt'

type Key = { readonly key: string; readonly shiftKey: boolean; readonly ctrlKey: boolean; readonly metaKey: boolean; readonly altKey: boolean }

const COMMAND_KEYS: Readonly<Record<string, NotebookKeyAction>> = {
  Enter: 'edit', ArrowDown: 'next', j: 'next', ArrowUp: 'previous', k: 'previous', a: 'above', b: 'below', m: 'markdown', y: 'code', r: 'raw', z: 'restore',
}

/** Keys that act when they are pressed twice. */
const DOUBLE_KEYS: Readonly<Record<string, NotebookKeyAction>> = { d: 'delete', i: 'interrupt' }
const DOUBLE_MS = 800

/** Remembers the first key of a pair. */
export class NotebookKeys {
  #first: { readonly key: string; readonly at: number } | null = null

  /** What a key asks for in a mode, or null. */
  read(event: Key, mode: 'command' | 'edit', at: number): NotebookKeyAction | null {
    const first = this.#first
    this.#first = null
    if (event.key === 'Enter' && event.shiftKey) return 'runAndAdvance'
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) return 'run'
    if (event.key === 'Enter' && event.altKey) return 'runAndInsert'
    if (mode === 'edit') return event.key === 'Escape' ? 'command' : null
    if (event.ctrlKey && event.shiftKey && event.key === 'ArrowUp') return 'moveUp'
    if (event.ctrlKey && event.shiftKey && event.key === 'ArrowDown') return 'moveDown'
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return null
    const double = DOUBLE_KEYS[event.key]
    if (double === undefined) return COMMAND_KEYS[event.key] ?? null
    if (first?.key === event.key && at - first.at < DOUBLE_MS) return double
    this.#first = { key: event.key, at }
    return null
  }
}
