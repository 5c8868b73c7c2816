/** Helpers for keyboard shortcuts. */

const APPLE = /Mac|iPhone|iPad/.test(navigator.platform)

/** The name of the modifier key: Ctrl, or Cmd on Apple systems. */
export const MOD = APPLE ? '⌘' : 'Ctrl'

/** Whether exactly the modifier and this key were pressed. */
export function isMod(event: KeyboardEvent, key: string): boolean {
  const mod = APPLE ? event.metaKey : event.ctrlKey
  return mod && !event.altKey && !event.shiftKey && event.key.toLowerCase() === key
}

/** Whether the key is typed into an input or a dialog. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog') !== null
}
