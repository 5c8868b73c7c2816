/** Everything that is folded from the log, in one value. */
import type { Event } from '../../proto/index.ts'
import { foldApproval, NO_APPROVALS, type Approvals } from '../approvals/approvals.ts'
import { foldDaemon, NO_DAEMON, type Daemon } from './daemon.ts'
import { foldGrant, NO_GRANTS, type Grants } from '../governance/grants.ts'
import { foldMarks, NO_MARKS, type Marks } from '../governance/file-changes.ts'
import { foldMode, NO_MODES, type Modes } from '../governance/modes.ts'
import { foldProject, NO_PROJECTS, type Projects } from '../projects/projects.ts'
import { foldRuntime, NO_RUNTIMES, type Runtimes } from '../runtime/runtimes.ts'
import { foldSessions, NO_SESSIONS, type Sessions } from '../sessions/sessions.ts'
import { foldTyping, NO_TYPING, type Typing } from '../terminal/agent-input.ts'

/** What the log says, apart from the events themselves. */
export type Folded = {
  readonly projects: Projects
  readonly daemon: Daemon
  readonly approvals: Approvals
  readonly modes: Modes
  readonly grants: Grants
  readonly marks: Marks
  readonly runtimes: Runtimes
  readonly typing: Typing
  readonly sessions: Sessions
}

/** Before the first event. */
export const NOTHING: Folded = {
  projects: NO_PROJECTS,
  daemon: NO_DAEMON,
  approvals: NO_APPROVALS,
  modes: NO_MODES,
  grants: NO_GRANTS,
  marks: NO_MARKS,
  runtimes: NO_RUNTIMES,
  typing: NO_TYPING,
  sessions: NO_SESSIONS,
}

/**
 * Folds a batch. Folding it in pieces gives the same; unknown kinds are skipped.
 * A batch that changes nothing gives back the same value, so nothing is redrawn.
 */
export function fold(before: Folded, events: readonly Event[]): Folded {
  let { projects, daemon, approvals, modes, grants, marks, runtimes, typing, sessions } = before
  for (const event of events) {
    projects = foldProject(projects, event)
    daemon = foldDaemon(daemon, event)
    approvals = foldApproval(approvals, event)
    modes = foldMode(modes, event)
    grants = foldGrant(grants, event)
    marks = foldMarks(marks, event)
    runtimes = foldRuntime(runtimes, event)
    typing = foldTyping(typing, event)
    sessions = foldSessions(sessions, event)
  }
  const after: Folded = { projects, daemon, approvals, modes, grants, marks, runtimes, typing, sessions }
  const same = (Object.keys(after) as (keyof Folded)[]).every((part) => after[part] === before[part])
  return same ? before : after
}
