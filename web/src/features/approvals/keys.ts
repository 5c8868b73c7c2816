/** Which key does what while a question is looked at. Pure; Enter never allows. */
import type { AnswerScope } from '../../proto/index.ts'

/** A key press, as far as it matters. */
export type Press = {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  /** Whether the key is held down. */
  readonly repeat: boolean
}

/** What a key asks for. */
export type Deed =
  | { readonly kind: 'move'; readonly by: 1 | -1 }
  | { readonly kind: 'allow'; readonly scope: 'once' | 'session' }
  | { readonly kind: 'deny' }
  | { readonly kind: 'message' }
  | { readonly kind: 'close' }

/** What may be answered now. */
export type Chance = {
  /** Whether the question waits, the daemon is there and the card has settled. */
  readonly ready: boolean
  /** The answers that the question offers. */
  readonly scopes: readonly AnswerScope[]
}

/** Whether a key calls for the request that waits in a conversation: Alt and A, by its place on the keyboard. */
export function isCall(press: { readonly code: string; readonly altKey: boolean; readonly ctrlKey: boolean; readonly metaKey: boolean; readonly shiftKey: boolean }): boolean {
  return press.code === 'KeyA' && press.altKey && !press.ctrlKey && !press.metaKey && !press.shiftKey
}

/** The deed of a key, or null. */
export function deedOf(press: Press, chance: Chance): Deed | null {
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
      return chance.ready && !press.repeat ? answerOf(press.key, chance.scopes) : null
  }
}

function answerOf(key: string, scopes: readonly AnswerScope[]): Deed | null {
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
