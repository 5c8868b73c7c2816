/** The policy page: the rules of a project, and an explanation of their decisions. */
export { default as PolicyPage } from './PolicyPage.svelte'
