/** Messages that are no part of the log. */
export { default as Notices } from './Notices.svelte'
