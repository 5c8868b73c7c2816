/** The projects: the list, opening, closing, and the first run. */
export { default as ProjectList } from './ProjectList.svelte'
export { default as Welcome } from './Welcome.svelte'
export { default as TourOffer } from './TourOffer.svelte'
