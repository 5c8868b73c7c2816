/** What the project serves, in a frame of its own origin. */
export { default as PreviewPane } from './PreviewPane.svelte'
