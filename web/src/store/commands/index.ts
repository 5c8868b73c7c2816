/** Commands of a person, pending until the log confirms them. */
export type { Command, RuntimeCommand } from './command.ts'
export type { PendingCommand } from './command-tracker.svelte.ts'
