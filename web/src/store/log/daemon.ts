/** What the log says of the daemon: a pure fold. */
import type { Event } from '../../proto/index.ts'

/** The daemon's last known state. Times are microseconds of its own clock. */
export type Daemon =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'started'; readonly at: number; readonly pid: number; readonly version: string }
  | { readonly kind: 'stopped'; readonly at: number; readonly reason: string }

/** Before the first event. */
export const NO_DAEMON: Daemon = { kind: 'unknown' }

/** Folds one event; kinds that say nothing about the daemon change nothing. */
export function foldDaemon(daemon: Daemon, event: Event): Daemon {
  if (event.kind === 'DAEMON_STARTED') {
    const { pid, version } = event.body
    return { kind: 'started', at: event.at, pid, version }
  }
  if (event.kind === 'DAEMON_STOPPED') {
    return { kind: 'stopped', at: event.at, reason: event.body.reason }
  }
  return daemon
}
