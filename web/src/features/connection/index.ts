/** The state of the connection to the daemon. */
export { default as ConnectionChip } from './ConnectionChip.svelte'
export { default as LoggedOut } from './LoggedOut.svelte'
export { default as LostBanner } from './LostBanner.svelte'
