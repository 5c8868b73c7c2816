/** The event log: connection, projection and verification. */
export type { ConnectionState } from '../../net/index.ts'
export type { DaemonState } from './daemon.ts'
