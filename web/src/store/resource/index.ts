/** Values that are fetched from the daemon. */
export { latestValue, type ResourceState } from './resource.svelte.ts'
