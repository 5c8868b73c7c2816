/** How much runs without asking: the switch, and the band while it is nearly all. */
export { default as FullBand } from './FullBand.svelte'
export { default as ModeSwitch } from './ModeSwitch.svelte'
