/** The projects: list, open, close, and the welcome page. */
export { default as ProjectList } from './ProjectList.svelte'
export { default as Welcome } from './Welcome.svelte'
export { default as TourOffer } from './TourOffer.svelte'
