/** The keys that answer an approval. Pure; Enter never allows. */
import type { AnswerScope } from '../../proto/index.ts'

/** The relevant part of a keyboard event. */
export type KeyPress = {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  /** Whether the key is held down. */
  readonly repeat: boolean
}

/** The command of a key. */
export type KeyCommand =
  | { readonly kind: 'move'; readonly by: 1 | -1 }
  | { readonly kind: 'allow'; readonly scope: 'once' | 'session' }
  | { readonly kind: 'deny' }
  | { readonly kind: 'message' }
  | { readonly kind: 'close' }

/** What a key may do now. */
export type KeyContext = {
  /** Whether the approval is pending, the daemon is connected and the card has settled. */
  readonly ready: boolean
  /** The scopes that the approval offers. */
  readonly scopes: readonly AnswerScope[]
}

/** Whether a key focuses the next approval of a conversation: Alt+A, by its physical key. */
export function isFocusShortcut(press: { readonly code: string; readonly altKey: boolean; readonly ctrlKey: boolean; readonly metaKey: boolean; readonly shiftKey: boolean }): boolean {
  return press.code === 'KeyA' && press.altKey && !press.ctrlKey && !press.metaKey && !press.shiftKey
}

/** The command of a key, or null. */
export function keyCommand(press: KeyPress, context: KeyContext): KeyCommand | null {
  if (press.ctrlKey || press.metaKey || press.altKey) return null
  switch (press.key) {
    case 'j':
    case 'ArrowDown':
      return { kind: 'move', by: 1 }
    case 'k':
    case 'ArrowUp':
      return { kind: 'move', by: -1 }
    case 'Escape':
      return { kind: 'close' }
    default:
      return context.ready && !press.repeat ? answerCommand(press.key, context.scopes) : null
  }
}

function answerCommand(key: string, scopes: readonly AnswerScope[]): KeyCommand | null {
  switch (key) {
    case 'a':
      return scopes.includes('once') ? { kind: 'allow', scope: 'once' } : null
    case 's':
      return scopes.includes('session') ? { kind: 'allow', scope: 'session' } : null
    case 'd':
      return { kind: 'deny' }
    case 'm':
      return { kind: 'message' }
    default:
      return null
  }
}
