/**
 * Makes dangerous characters visible.
 *
 * Paths, labels and bodies are written by agents. A control, a zero-width or a
 * bidirectional character could make such a text look like another one, so
 * each is shown as its number. Plain text in, plain text out: never markup.
 */

/** A run of text; `escaped` runs stand for characters that cannot be seen. */
export type Piece = { readonly text: string; readonly escaped: boolean }

/**
 * Controls, formats (bidi and zero width among them), separators other than the
 * plain space, private and unassigned code points, variation selectors, and the
 * letters that are drawn as nothing.
 */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Variation_Selector}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}]|(?! )\p{Zs}/gu

/** Cuts a text into what can be seen and what stands for what cannot. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = []
  let from = 0
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), escaped: false })
    out.push({ text: escape(match[0]), escaped: true })
    from = match.index + match[0].length
  }
  if (from < text.length) out.push({ text: text.slice(from), escaped: false })
  return out
}

/** The same as one string, for titles and labels. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escape)
}

function escape(char: string): string {
  if (char === '\n') return '\\n'
  if (char === '\r') return '\\r'
  if (char === '\t') return '\\t'
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}
