/** The preview of a project's server, in a frame with its own origin. */
export { default as PreviewPane } from './PreviewPane.svelte'
