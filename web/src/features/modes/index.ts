/** The mode of a project: the switch in the header, and the banner of full mode. */
export { default as FullModeBanner } from './FullModeBanner.svelte'
export { default as ModeSwitch } from './ModeSwitch.svelte'
