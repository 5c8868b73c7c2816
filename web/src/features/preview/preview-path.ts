/** Parses the input of the address bar. Pure. */

/** The path that was entered, or null if it has another origin: a preview shows only its own. */
export function parsePreviewPath(input: string, origin: string | null): string | null {
  const text = input.trim()
  if (text === '') return '/'
  if (text.startsWith('//') || text.startsWith('/\\')) return null
  if (text.startsWith('/')) return text
  if (origin !== null && text.startsWith(origin)) return parsePreviewPath(text.slice(origin.length), null)
  if (/^[a-z][a-z\d+.-]*:/i.test(text)) return null
  return `/${text}`
}
