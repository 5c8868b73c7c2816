/** Keyboard shortcuts: how they are written and when they count. */

const APPLE = /Mac|iPhone|iPad/.test(navigator.platform)

/** The name of Ctrl, or of Cmd where that is its place. */
export const MOD = APPLE ? '⌘' : 'Ctrl'

/** Whether Ctrl (or Cmd) and this key were pressed, and nothing else. */
export function isMod(event: KeyboardEvent, key: string): boolean {
  const mod = APPLE ? event.metaKey : event.ctrlKey
  return mod && !event.altKey && !event.shiftKey && event.key.toLowerCase() === key
}

/** Whether the key is being typed into something. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog') !== null
}
