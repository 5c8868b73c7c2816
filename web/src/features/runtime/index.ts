/** What a project runs: the controls in the header, and the page with builds, crashes and output. */
export { default as RunBar } from './RunBar.svelte'
export { default as RunPage } from './RunPage.svelte'
