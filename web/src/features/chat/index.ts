/** The chat: the sessions of a project, and the conversation of one. */
export { default as ChatPage } from './ChatPage.svelte'
