/** Sessions with models: the list, the conversation of one, and the commands for them. */
export type { ActionDetails, Conversation } from './conversation.ts'
export type { ConversationReader, ConversationState } from './conversation-reader.svelte.ts'
export type { ConversationStore, UsageTotals } from './conversation-store.svelte.ts'
