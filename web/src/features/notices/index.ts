/** Messages that are not part of the log. */
export { default as Notices } from './Notices.svelte'
