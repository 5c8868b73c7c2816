/** The terminal of a project. Loaded on demand, because xterm.js is large. */
export { default as TerminalPane } from './TerminalPane.svelte'
