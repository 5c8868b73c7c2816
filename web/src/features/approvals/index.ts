/** Requests that wait for a person: the button in the header, the drawer, and where they came up. */
export { default as Bell } from './Bell.svelte'
export { default as Drawer } from './Drawer.svelte'
export { default as InPlace } from './InPlace.svelte'
