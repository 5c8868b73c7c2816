/** Talking with models: the sessions of a project and the conversation in one. */
export { default as ChatPage } from './ChatPage.svelte'
