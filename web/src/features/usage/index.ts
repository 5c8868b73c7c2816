/** The usage and cost of models. */
export { default as UsageChip } from './UsageChip.svelte'
