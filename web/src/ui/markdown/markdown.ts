/**
 * Parses Markdown into data. It is drawn as our own elements with plain text and never
 * becomes HTML, so it cannot inject any.
 *
 * A growing text is parsed incrementally: a block is final when the first line of the
 * next one is complete, and only the rest is parsed again. Blocks are independent, so
 * the result equals that of parsing the whole text.
 */
import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'

/** Inline content. */
export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong'; readonly content: readonly Inline[] }
  | { readonly kind: 'em'; readonly content: readonly Inline[] }
  | { readonly kind: 'del'; readonly content: readonly Inline[] }
  | { readonly kind: 'link'; readonly href: string; readonly content: readonly Inline[] }
  /** Images are not loaded; their text and address are shown. */
  | { readonly kind: 'image'; readonly href: string; readonly text: string }
  | { readonly kind: 'break' }

/** An item of a list. */
export type Entry = { readonly checked: boolean | null; readonly blocks: readonly Block[] }

/** A block of the text. */
export type Block =
  | { readonly kind: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly kind: 'heading'; readonly depth: number; readonly content: readonly Inline[] }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly entries: readonly Entry[] }
  | { readonly kind: 'table'; readonly head: readonly (readonly Inline[])[]; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly kind: 'rule' }

/** The deepest nesting of blocks and inline content; anything deeper is shown as source text. */
const MAX_DEPTH = 12

/** Parses a text that may grow at its end. */
export class MarkdownParser {
  #text = ''
  /** Where the part that is not final begins. */
  #finalEnd = 0
  #final: readonly Block[] = []
  #blocks: readonly Block[] = []

  /** The blocks of a text. If it extends the last one, only its end is parsed. */
  parse(text: string): readonly Block[] {
    if (text === this.#text) return this.#blocks
    if (!text.startsWith(this.#text)) {
      this.#finalEnd = 0
      this.#final = []
    }
    this.#text = text
    const tokens = lexBlocks(text.slice(this.#finalEnd))
    const finalCount = countFinal(tokens)
    if (finalCount > 0) {
      const done = tokens.slice(0, finalCount)
      this.#final = [...this.#final, ...done.flatMap((token) => toBlocks(token, 0))]
      this.#finalEnd += done.reduce((sum, token) => sum + token.raw.length, 0)
    }
    this.#blocks = [...this.#final, ...tokens.slice(finalCount).flatMap((token) => toBlocks(token, 0))]
    return this.#blocks
  }
}

/** How many tokens are final: those before the last one whose first line is complete. */
function countFinal(tokens: readonly MarkedToken[]): number {
  const isBlock = ({ type }: MarkedToken): boolean => type !== 'space'
  const last = tokens.findLastIndex(isBlock)
  // An incomplete line may still become a part of the block before it.
  const complete = tokens.slice(last).some(({ raw }) => raw.includes('\n'))
  return Math.max(0, complete ? last : tokens.slice(0, Math.max(0, last)).findLastIndex(isBlock))
}

/** The blocks of a complete text. */
export function parseMarkdown(text: string): readonly Block[] {
  return new MarkdownParser().parse(text)
}

function lexBlocks(text: string): MarkedToken[] {
  const lexer = new Lexer({ gfm: true })
  return lexer.blockTokens(text, []) as MarkedToken[]
}

function toBlocks(token: Token, depth: number): readonly Block[] {
  const known = token as MarkedToken
  if (depth > MAX_DEPTH) return [{ kind: 'paragraph', content: [{ kind: 'text', text: token.raw }] }]
  switch (known.type) {
    case 'space':
      return []
    case 'heading':
      return [{ kind: 'heading', depth: known.depth, content: inline(known.text) }]
    case 'code':
      return [{ kind: 'code', language: codeLanguage(known), text: known.text }]
    case 'blockquote':
      return [{ kind: 'quote', blocks: known.tokens.flatMap((child) => toBlocks(child, depth + 1)) }]
    case 'list':
      return [list(known, depth)]
    case 'table':
      return [{ kind: 'table', head: known.header.map(({ text }) => inline(text)), rows: known.rows.map((row) => row.map(({ text }) => inline(text))) }]
    case 'hr':
      return [{ kind: 'rule' }]
    case 'paragraph':
    case 'text':
      return [{ kind: 'paragraph', content: inline(known.text) }]
    default:
      // HTML and anything else: show the source text.
      return [{ kind: 'paragraph', content: lines(token.raw.replace(/\n+$/, '')) }]
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): Block {
  const entries = items.map(({ task, checked, tokens }): Entry => ({
    checked: task ? checked === true : null,
    blocks: tokens.flatMap((token) => (token.type === 'checkbox' ? [] : toBlocks(token, depth + 1))),
  }))
  return { kind: 'list', start: ordered ? Number(start) || 1 : null, entries }
}

function codeLanguage({ lang }: Tokens.Code): string {
  return (lang ?? '').trim().split(/\s/)[0] ?? ''
}

/** A text with line breaks. */
function lines(text: string): readonly Inline[] {
  return text.split('\n').flatMap((line, index): Inline[] => (index === 0 ? [{ kind: 'text', text: line }] : [{ kind: 'break' }, { kind: 'text', text: line }]))
}

function inline(text: string): readonly Inline[] {
  const lexer = new Lexer({ gfm: true })
  return mergeText(lexer.inlineTokens(text, []).flatMap((token) => toInline(token, 0)))
}

function toInline(token: Token, depth: number): readonly Inline[] {
  const known = token as MarkedToken
  if (depth > MAX_DEPTH) return [{ kind: 'text', text: token.raw }]
  const within = (tokens: readonly Token[]): readonly Inline[] => mergeText(tokens.flatMap((child) => toInline(child, depth + 1)))
  switch (known.type) {
    case 'strong':
    case 'em':
    case 'del':
      return [{ kind: known.type, content: within(known.tokens) }]
    case 'codespan':
      return [{ kind: 'code', text: known.text }]
    case 'br':
      return [{ kind: 'break' }]
    case 'link':
      return [{ kind: 'link', href: known.href, content: within(known.tokens) }]
    case 'image':
      return [{ kind: 'image', href: known.href, text: known.text }]
    case 'escape':
      return [{ kind: 'text', text: known.text }]
    case 'text':
      return [{ kind: 'text', text: decodeEntities(known.text) }]
    default:
      return [{ kind: 'text', text: token.raw }]
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'", nbsp: ' ' }

/** Decodes the common entities. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
}

/** Merges adjacent texts; a single line break in a paragraph becomes a space. */
function mergeText(pieces: readonly Inline[]): readonly Inline[] {
  const out: Inline[] = []
  for (const next of pieces) {
    const last = out.at(-1)
    if (next.kind === 'text' && last?.kind === 'text') out[out.length - 1] = { kind: 'text', text: last.text + next.text }
    else out.push(next)
  }
  return out.map((piece) => (piece.kind === 'text' ? { kind: 'text', text: piece.text.replace(/ *\n */g, ' ') } : piece))
}

/** The URL of a link that may be followed, or null. */
export function safeHref(href: string): string | null {
  try {
    const url = new URL(href)
    return url.protocol === 'http:' || url.protocol === 'https:' || url.protocol === 'mailto:' ? url.href : null
  } catch {
    return null
  }
}

/** The host or mail address of a link, shown beside it so that its text cannot pretend another one. */
export function linkHost(href: string): string {
  const url = new URL(href)
  return url.protocol === 'mailto:' ? url.pathname : url.host
}

/** Inline content as plain text. */
export function plainText(pieces: readonly Inline[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === 'break') return '\n'
      return 'text' in piece ? piece.text : plainText(piece.content)
    })
    .join('')
}
