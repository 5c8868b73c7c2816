/**
 * Markdown as data, and only as data: what is drawn are elements of ours with plain
 * text in them. There is no HTML anywhere, so none can be smuggled in.
 *
 * A text that grows is read piece by piece: a block is final when the line that
 * begins the next one is complete, and only what comes after is read again. Each
 * block stands for itself, so that a text read in pieces is the text read whole.
 */
import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'

/** A piece of a line. */
export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong'; readonly inside: readonly Inline[] }
  | { readonly kind: 'em'; readonly inside: readonly Inline[] }
  | { readonly kind: 'del'; readonly inside: readonly Inline[] }
  | { readonly kind: 'link'; readonly href: string; readonly inside: readonly Inline[] }
  /** Images are not loaded: what they are called and where they are is told. */
  | { readonly kind: 'image'; readonly href: string; readonly text: string }
  | { readonly kind: 'break' }

/** An item of a list. */
export type Entry = { readonly checked: boolean | null; readonly blocks: readonly Block[] }

/** A part of the text that stands for itself. */
export type Block =
  | { readonly kind: 'paragraph'; readonly inside: readonly Inline[] }
  | { readonly kind: 'heading'; readonly depth: number; readonly inside: readonly Inline[] }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly entries: readonly Entry[] }
  | { readonly kind: 'table'; readonly head: readonly (readonly Inline[])[]; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly kind: 'rule' }

/** How deep blocks and lines may be nested; what is deeper is shown as it was written. */
const DEEPEST = 12

/** A text that may grow at its end. */
export class Markdown {
  #text = ''
  /** Where what is not final begins. */
  #open = 0
  #final: readonly Block[] = []
  #blocks: readonly Block[] = []

  /** The blocks of a text. If it goes on from the last one, only its end is read. */
  read(text: string): readonly Block[] {
    if (text === this.#text) return this.#blocks
    if (!text.startsWith(this.#text)) {
      this.#open = 0
      this.#final = []
    }
    this.#text = text
    const tokens = blocksOf(text.slice(this.#open))
    const settled = finalOf(tokens)
    if (settled > 0) {
      const done = tokens.slice(0, settled)
      this.#final = [...this.#final, ...done.flatMap((token) => block(token, 0))]
      this.#open += done.reduce((sum, token) => sum + token.raw.length, 0)
    }
    this.#blocks = [...this.#final, ...tokens.slice(settled).flatMap((token) => block(token, 0))]
    return this.#blocks
  }
}

/** How many tokens are final: those before the last one whose first line is complete. */
function finalOf(tokens: readonly MarkedToken[]): number {
  const isBlock = ({ type }: MarkedToken): boolean => type !== 'space'
  const last = tokens.findLastIndex(isBlock)
  // A line that is not complete may still turn out to belong to what is before it.
  const complete = tokens.slice(last).some(({ raw }) => raw.includes('\n'))
  return Math.max(0, complete ? last : tokens.slice(0, Math.max(0, last)).findLastIndex(isBlock))
}

/** The blocks of a text that does not grow. */
export function blocks(text: string): readonly Block[] {
  return new Markdown().read(text)
}

function blocksOf(text: string): MarkedToken[] {
  const lexer = new Lexer({ gfm: true })
  return lexer.blockTokens(text, []) as MarkedToken[]
}

function block(token: Token, depth: number): readonly Block[] {
  const known = token as MarkedToken
  if (depth > DEEPEST) return [{ kind: 'paragraph', inside: [{ kind: 'text', text: token.raw }] }]
  switch (known.type) {
    case 'space':
      return []
    case 'heading':
      return [{ kind: 'heading', depth: known.depth, inside: inline(known.text) }]
    case 'code':
      return [{ kind: 'code', language: languageOf(known), text: known.text }]
    case 'blockquote':
      return [{ kind: 'quote', blocks: known.tokens.flatMap((inside) => block(inside, depth + 1)) }]
    case 'list':
      return [list(known, depth)]
    case 'table':
      return [{ kind: 'table', head: known.header.map(({ text }) => inline(text)), rows: known.rows.map((row) => row.map(({ text }) => inline(text))) }]
    case 'hr':
      return [{ kind: 'rule' }]
    case 'paragraph':
    case 'text':
      return [{ kind: 'paragraph', inside: inline(known.text) }]
    default:
      // HTML and what else there may be: as it was written.
      return [{ kind: 'paragraph', inside: lines(token.raw.replace(/\n+$/, '')) }]
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): Block {
  const entries = items.map(({ task, checked, tokens }): Entry => ({
    checked: task ? checked === true : null,
    blocks: tokens.flatMap((token) => (token.type === 'checkbox' ? [] : block(token, depth + 1))),
  }))
  return { kind: 'list', start: ordered ? Number(start) || 1 : null, entries }
}

function languageOf({ lang }: Tokens.Code): string {
  return (lang ?? '').trim().split(/\s/)[0] ?? ''
}

/** A text of several lines, each on its own. */
function lines(text: string): readonly Inline[] {
  return text.split('\n').flatMap((line, index): Inline[] => (index === 0 ? [{ kind: 'text', text: line }] : [{ kind: 'break' }, { kind: 'text', text: line }]))
}

function inline(text: string): readonly Inline[] {
  const lexer = new Lexer({ gfm: true })
  return merged(lexer.inlineTokens(text, []).flatMap((token) => piece(token, 0)))
}

function piece(token: Token, depth: number): readonly Inline[] {
  const known = token as MarkedToken
  if (depth > DEEPEST) return [{ kind: 'text', text: token.raw }]
  const within = (tokens: readonly Token[]): readonly Inline[] => merged(tokens.flatMap((inside) => piece(inside, depth + 1)))
  switch (known.type) {
    case 'strong':
    case 'em':
    case 'del':
      return [{ kind: known.type, inside: within(known.tokens) }]
    case 'codespan':
      return [{ kind: 'code', text: known.text }]
    case 'br':
      return [{ kind: 'break' }]
    case 'link':
      return [{ kind: 'link', href: known.href, inside: within(known.tokens) }]
    case 'image':
      return [{ kind: 'image', href: known.href, text: known.text }]
    case 'escape':
      return [{ kind: 'text', text: known.text }]
    case 'text':
      return [{ kind: 'text', text: decoded(known.text) }]
    default:
      return [{ kind: 'text', text: token.raw }]
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'", nbsp: ' ' }

/** The few names of characters that are in common use. */
function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
}

/** Neighboring texts as one; a single line break in a paragraph is a space. */
function merged(pieces: readonly Inline[]): readonly Inline[] {
  const out: Inline[] = []
  for (const next of pieces) {
    const last = out.at(-1)
    if (next.kind === 'text' && last?.kind === 'text') out[out.length - 1] = { kind: 'text', text: last.text + next.text }
    else out.push(next)
  }
  return out.map((one) => (one.kind === 'text' ? { kind: 'text', text: one.text.replace(/ *\n */g, ' ') } : one))
}

/** The address of a link that may be followed, or null. */
export function safeHref(href: string): string | null {
  try {
    const url = new URL(href)
    return url.protocol === 'http:' || url.protocol === 'https:' || url.protocol === 'mailto:' ? url.href : null
  } catch {
    return null
  }
}

/** What is said beside a link, so that its words cannot pretend another address. */
export function placeOf(href: string): string {
  const url = new URL(href)
  return url.protocol === 'mailto:' ? url.pathname : url.host
}

/** The words of a line. */
export function textOf(pieces: readonly Inline[]): string {
  return pieces
    .map((one) => {
      if (one.kind === 'break') return '\n'
      return 'text' in one ? one.text : textOf(one.inside)
    })
    .join('')
}
