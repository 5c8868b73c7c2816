/** The runtime of a project: controls in the header, and the page with builds, crashes and output. */
export { default as RuntimeControls } from './RuntimeControls.svelte'
export { default as RuntimePage } from './RuntimePage.svelte'
