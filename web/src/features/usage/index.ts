/** What models used and cost. */
export { default as SpentChip } from './SpentChip.svelte'
