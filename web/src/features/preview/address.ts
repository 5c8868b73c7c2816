/** What is typed into the address bar of a preview. Pure. */

/** The path that is meant, or null if it leads elsewhere: a preview shows its own origin only. */
export function pathOf(typed: string, origin: string | null): string | null {
  const text = typed.trim()
  if (text === '') return '/'
  if (text.startsWith('//') || text.startsWith('/\\')) return null
  if (text.startsWith('/')) return text
  if (origin !== null && text.startsWith(origin)) return pathOf(text.slice(origin.length), null)
  if (/^[a-z][a-z\d+.-]*:/i.test(text)) return null
  return `/${text}`
}
