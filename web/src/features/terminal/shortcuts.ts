/** The shortcuts of the terminal pane. All other keys go to the terminal. */

/** A shortcut of the pane. */
export type PaneShortcut = 'copy' | 'paste' | 'find' | 'palette'

/** The shortcut of a key, or null. Ctrl+Shift, because Ctrl alone belongs to programs. */
export function paneShortcut(event: KeyboardEvent): PaneShortcut | null {
  const mod = (event.ctrlKey && event.shiftKey) || event.metaKey
  if (!mod || event.altKey) return null
  switch (event.key.toLowerCase()) {
    case 'c':
      return 'copy'
    case 'v':
      return 'paste'
    case 'f':
      return 'find'
    case 'k':
      return 'palette'
    default:
      return null
  }
}
