/** Requests that wait for a person: the button in the header and the drawer. */
export { default as Bell } from './Bell.svelte'
export { default as Drawer } from './Drawer.svelte'
