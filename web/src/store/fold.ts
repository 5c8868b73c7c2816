/** Everything that is folded from the log, in one value. */
import type { Event } from '../proto/index.ts'
import { foldDaemon, NO_DAEMON, type Daemon } from './daemon.ts'
import { foldProject, NO_PROJECTS, type Projects } from './projects.ts'

/** What the log says, apart from the events themselves. */
export type Folded = {
  readonly projects: Projects
  readonly daemon: Daemon
}

/** Before the first event. */
export const NOTHING: Folded = { projects: NO_PROJECTS, daemon: NO_DAEMON }

/**
 * Folds a batch. Folding it in pieces gives the same; unknown kinds are skipped.
 * A batch that changes nothing gives back the same value, so nothing is redrawn.
 */
export function fold(before: Folded, events: readonly Event[]): Folded {
  let { projects, daemon } = before
  for (const event of events) {
    projects = foldProject(projects, event)
    daemon = foldDaemon(daemon, event)
  }
  const same = projects === before.projects && daemon === before.daemon
  return same ? before : { projects, daemon }
}
