/** What a seat at a terminal says, and what it needs. */
import type { Code, ProjectId, TerminalTicket } from '../../proto/index.ts'
import { ask, type Answer } from '../http/request.ts'

/** How it stands with the terminal. Times are milliseconds of the browser's clock. */
export type Attachment =
  /** Nobody has asked for it. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting'; readonly lostSince: number | null }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  /** The shell has ended. */
  | { readonly kind: 'ended'; readonly exitCode: number | null; readonly signal: number | null }
  /** The answer was no, and asking again would not change it. */
  | { readonly kind: 'refused'; readonly reason: string; readonly code: Code }
  | { readonly kind: 'loggedOut' }

/** Who draws. Each is called in the order of the stream. */
export type Display = {
  /** How large it is: what the terminal should have. */
  readonly size: () => Size
  /** Draws on an empty terminal of this size. `parsed` is to be called when it is drawn. */
  readonly snapshot: (size: Size, bytes: Uint8Array, parsed: () => void) => void
  readonly output: (bytes: Uint8Array, parsed: () => void) => void
  readonly resize: (size: Size) => void
  readonly title: (text: string) => void
  readonly bell: () => void
}

/** Of a terminal, in cells. */
export type Size = { readonly cols: number; readonly rows: number }

/** Who wants to know. */
export type Watcher = {
  readonly state: (state: Attachment) => void
  /** Something a person should know, though it goes on. */
  readonly note: (text: string) => void
}

/** What it needs from its surroundings, so that a test can bring its own. */
export type Surroundings = {
  readonly ticket: (project: ProjectId) => Promise<Answer<TerminalTicket>>
  readonly socket: (path: string) => WebSocket
  readonly now: () => number
  readonly random: () => number
}

/** A browser, with the daemon behind the page. */
export const BROWSER: Surroundings = {
  ticket: (project) => ask({ method: 'POST', path: `/api/projects/${encodeURIComponent(project)}/terminal/ticket`, body: {} }),
  socket: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, 'ws'))),
  now: Date.now,
  random: Math.random,
}
