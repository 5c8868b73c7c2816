/** The timeline: every event of the log, and one of them in full. */
export { default as Timeline } from './Timeline.svelte'
