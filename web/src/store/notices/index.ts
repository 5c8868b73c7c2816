/** Short messages that are not part of the log. */
export type { Notice } from './notices.svelte.ts'
