/** The project's terminal. Loaded only when someone looks at one: xterm.js is large. */
export { default as TerminalPane } from './TerminalPane.svelte'
