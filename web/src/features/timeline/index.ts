/** The timeline: every event of the log, one of them in full, and the story of one action. */
export { default as Story } from './Story.svelte'
export { default as Timeline } from './Timeline.svelte'
