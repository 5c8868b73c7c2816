/** The state of the daemon, folded from the log. Pure. */
import type { Event } from '../../proto/index.ts'

/** The daemon's last known state. Times are microseconds of its own clock. */
export type DaemonState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'started'; readonly at: number; readonly pid: number; readonly version: string }
  | { readonly kind: 'stopped'; readonly at: number; readonly reason: string }

/** The state before the first event. */
export const UNKNOWN_DAEMON: DaemonState = { kind: 'unknown' }

/** Folds one event; events about other things change nothing. */
export function foldDaemon(daemon: DaemonState, event: Event): DaemonState {
  if (event.kind === 'DAEMON_STARTED') {
    const { pid, version } = event.body
    return { kind: 'started', at: event.at, pid, version }
  }
  if (event.kind === 'DAEMON_STOPPED') {
    return { kind: 'stopped', at: event.at, reason: event.body.reason }
  }
  return daemon
}
