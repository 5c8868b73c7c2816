/** The timeline: all events, the details of one, and the report of an action. */
export { default as ActionReport } from './ActionReport.svelte'
export { default as Timeline } from './Timeline.svelte'
