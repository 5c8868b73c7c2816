/** What this browser remembers of its user's choices. */
export type { Theme } from './theme.svelte.ts'
