/** The timeline: a window of the log, filters, and the report of one action. */
export type { ActionReportState } from './action-report.svelte.ts'
export type { TimelineRows } from './event-window.ts'
export { isEmptyFilter, NO_FILTER, type EventFilter } from './filter.ts'
export { NOTED_KEYS, outcomeNotes } from './outcome-notes.ts'
export type { TimelineState } from './timeline-store.svelte.ts'
