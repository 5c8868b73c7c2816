/**
 * Escapes invisible characters, and those that look like others.
 *
 * Paths, labels and bodies are written by agents. A control, zero-width or bidirectional
 * character could make such a text look like another one, so each is shown as its code
 * point. Input and output are plain text, never markup.
 */
import { findDisguises, findLookalikes } from './lookalikes.ts'

/** What a text is: a name is compared with names that a person knows, so more is escaped. */
export type UntrustedKind = 'text' | 'name'

/** A part of a text; an `escaped` one stands for a character that could be mistaken. */
export type TextSegment = { readonly text: string; readonly escaped: boolean }

/**
 * Controls, formats (bidi and zero width among them), separators other than the
 * plain space, private and unassigned code points, variation selectors, and the
 * letters without a glyph; also more marks on one letter than any script needs, which
 * would cover the lines around it.
 */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Variation_Selector}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}\u{16fe4}\u{1d159}]|(?<=[\p{Mn}\p{Me}]{4})[\p{Mn}\p{Me}]|(?! )\p{Zs}/gu

/** In a name: more than one space in a row, and one at the beginning or end. */
const SPACES = /  +|(?<=^|\/) | (?=$|\/)/gu

/** Splits a text into visible parts and escaped characters. */
export function splitInvisible(text: string, kind: UntrustedKind = 'text'): TextSegment[] {
  const found = new Map<number, string>()
  for (const at of kind === 'name' ? findDisguises(text) : findLookalikes(text)) found.set(at, String.fromCodePoint(text.codePointAt(at) ?? 0))
  for (const match of text.matchAll(INVISIBLE)) found.set(match.index, match[0])
  if (kind === 'name') for (const match of text.matchAll(SPACES)) found.set(match.index, match[0])
  const out: TextSegment[] = []
  let from = 0
  for (const [at, chars] of [...found].sort(([a], [b]) => a - b)) {
    if (at > from) out.push({ text: text.slice(from, at), escaped: false })
    out.push({ text: escape(chars), escaped: true })
    from = at + chars.length
  }
  if (from < text.length) out.push({ text: text.slice(from), escaped: false })
  return out
}

/** The escaped text as one string, for titles and labels. */
export function escapeInvisible(text: string): string {
  if (findLookalikes(text).length === 0) return text.replace(INVISIBLE, escape)
  return splitInvisible(text)
    .map((segment) => segment.text)
    .join('')
}

function escape(char: string): string {
  if (char === '\n') return '\\n'
  if (char === '\r') return '\\r'
  if (char === '\t') return '\\t'
  if (char.startsWith('  ')) return `\\u{${String(char.length)} spaces}`
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}
