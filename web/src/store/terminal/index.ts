/** The terminal of a project: the connection to it. */
export type { TerminalConnectionState, TerminalDisplay } from '../../net/index.ts'
export type { TerminalConnection } from './terminal-connection.svelte.ts'
