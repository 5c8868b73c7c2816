/** The grants page. */
export { default as GrantsPage } from './GrantsPage.svelte'
