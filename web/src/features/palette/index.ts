/** The command palette. */
export { default as Palette } from './Palette.svelte'
