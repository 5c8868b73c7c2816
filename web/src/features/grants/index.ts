/** What people allowed beyond one action. */
export { default as GrantsPage } from './GrantsPage.svelte'
