/** The documents that the daemon folds from its log, and the connection over which they arrive. */
export type { ConnectionState } from '../../net/index.ts'
export type { DocumentFollower } from './document-follower.svelte.ts'
export type { DocumentViews } from './views.ts'
