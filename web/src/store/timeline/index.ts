/** The timeline: events in memory, filters, and the report of one action. */
export type { ActionReportState } from './action-report.svelte.ts'
export { isEmptyFilter, NO_FILTER, type EventFilter } from './filter.ts'
export { NOTED_KEYS, outcomeNotes } from './outcome-notes.ts'
export { MAX_EVENTS, type FacetCounts, type TimelineRows } from './timeline.ts'
