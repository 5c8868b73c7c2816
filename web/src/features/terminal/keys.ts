/** The few keys that are the pane's and not the terminal's. All others are typed. */

/** What such a key asks for. */
export type Command = 'copy' | 'paste' | 'find' | 'palette'

/** The command of a key, or null. Ctrl with Shift, because Ctrl alone belongs to programs. */
export function commandOf(event: KeyboardEvent): Command | null {
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
