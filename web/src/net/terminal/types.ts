/** The states that a terminal socket reports, and the interfaces it needs. */
import { TERMINAL_SUBPROTOCOL, type Code, type ProjectId, type TerminalSize, type TerminalTicket } from '../../proto/index.ts'
import { sendRequest, type ApiResult } from '../http/request.ts'

/** The state of the connection to a terminal. Times are milliseconds of the browser's clock. */
export type TerminalConnectionState =
  /** Not attached yet. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting'; readonly lostSince: number | null }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  /** The shell has exited. */
  | { readonly kind: 'ended'; readonly exitCode: number | null; readonly signal: number | null }
  /** The daemon refused, and a retry would not help. */
  | { readonly kind: 'refused'; readonly reason: string; readonly code: Code }
  | { readonly kind: 'loggedOut' }

/** Draws the terminal. Methods are called in stream order. */
export type TerminalDisplay = {
  /** The size that fits the display. */
  readonly size: () => TerminalSize
  /** Replaces the content with a snapshot of this size. Calls `parsed` when it is drawn. */
  readonly snapshot: (size: TerminalSize, bytes: Uint8Array, parsed: () => void) => void
  readonly output: (bytes: Uint8Array, parsed: () => void) => void
  readonly resize: (size: TerminalSize) => void
  readonly title: (text: string) => void
  readonly bell: () => void
}

/** Receives state changes. */
export type TerminalObserver = {
  readonly state: (state: TerminalConnectionState) => void
  /** A message for the user that does not end the connection. */
  readonly note: (text: string) => void
}

/** The browser functions that are needed; tests replace them. */
export type TerminalEnvironment = {
  readonly ticket: (project: ProjectId) => Promise<ApiResult<TerminalTicket>>
  readonly socket: (path: string) => WebSocket
  readonly now: () => number
  readonly random: () => number
}

/** The real browser, with the daemon that served the page. */
export const BROWSER: TerminalEnvironment = {
  ticket: (project) => sendRequest({ method: 'POST', path: `/api/projects/${encodeURIComponent(project)}/terminal/ticket`, body: {} }),
  socket: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')), TERMINAL_SUBPROTOCOL),
  now: Date.now,
  random: Math.random,
}
