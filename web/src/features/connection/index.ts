/** The connection to the daemon, as people see it. */
export { default as ConnectionChip } from './ConnectionChip.svelte'
export { default as LoggedOut } from './LoggedOut.svelte'
export { default as LostBanner } from './LostBanner.svelte'
