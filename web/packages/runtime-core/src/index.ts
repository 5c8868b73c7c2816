/** A notebook in the page: the store, its connection, and the wire types. */
export { newId } from './ids.ts'
export { loadModule } from './notebook-module.ts'
export { NotebookStore, type AgentListener, type AgentStart, type OpenOptions, type SubmitResult } from './notebook-store.ts'
export { SyncConnection, type SyncOptions, type SyncState } from './sync-connection.ts'
export type * from './types.ts'
