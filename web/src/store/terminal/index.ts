/** The terminal of a project: the connection to it, and what agents typed into it. */
export type { TerminalConnectionState, TerminalDisplay } from '../../net/index.ts'
export type { AgentInput } from './agent-input.ts'
export type { TerminalConnection } from './terminal-connection.svelte.ts'
