/** The rules of a project, and what they would say. */
export { default as PolicyPage } from './PolicyPage.svelte'
