/** The state that is folded from the log, in one value. */
import type { Event } from '../../proto/index.ts'
import { foldApprovals, NO_APPROVALS, type Approvals } from '../approvals/approvals.ts'
import { foldFileChanges, NO_FILE_CHANGES, type FileChanges } from '../governance/file-changes.ts'
import { foldGrants, NO_GRANTS, type Grants } from '../governance/grants.ts'
import { foldModes, NO_MODES, type Modes } from '../governance/modes.ts'
import { foldProjects, NO_PROJECTS, type Projects } from '../projects/projects.ts'
import { foldRuntimes, NO_RUNTIMES, type Runtimes } from '../runtime/runtimes.ts'
import { foldSessions, NO_SESSIONS, type Sessions } from '../sessions/sessions.ts'
import { foldAgentInput, NO_AGENT_INPUT, type AgentInputLog } from '../terminal/agent-input.ts'
import { foldDaemon, UNKNOWN_DAEMON, type DaemonState } from './daemon.ts'

/** The folded state, without the events themselves. */
export type LogProjection = {
  readonly projects: Projects
  readonly daemon: DaemonState
  readonly approvals: Approvals
  readonly modes: Modes
  readonly grants: Grants
  readonly fileChanges: FileChanges
  readonly runtimes: Runtimes
  readonly agentInput: AgentInputLog
  readonly sessions: Sessions
}

/** The state before the first event. */
export const EMPTY_PROJECTION: LogProjection = {
  projects: NO_PROJECTS,
  daemon: UNKNOWN_DAEMON,
  approvals: NO_APPROVALS,
  modes: NO_MODES,
  grants: NO_GRANTS,
  fileChanges: NO_FILE_CHANGES,
  runtimes: NO_RUNTIMES,
  agentInput: NO_AGENT_INPUT,
  sessions: NO_SESSIONS,
}

/**
 * Folds a batch of events. The result does not depend on how the log is split into
 * batches. Unknown kinds are skipped. A batch that changes nothing returns the same
 * value, so that nothing is redrawn.
 */
export function foldEvents(before: LogProjection, events: readonly Event[]): LogProjection {
  let { projects, daemon, approvals, modes, grants, fileChanges, runtimes, agentInput, sessions } = before
  for (const event of events) {
    projects = foldProjects(projects, event)
    daemon = foldDaemon(daemon, event)
    approvals = foldApprovals(approvals, event)
    modes = foldModes(modes, event)
    grants = foldGrants(grants, event)
    fileChanges = foldFileChanges(fileChanges, event)
    runtimes = foldRuntimes(runtimes, event)
    agentInput = foldAgentInput(agentInput, event)
    sessions = foldSessions(sessions, event)
  }
  const after: LogProjection = { projects, daemon, approvals, modes, grants, fileChanges, runtimes, agentInput, sessions }
  const unchanged = (Object.keys(after) as (keyof LogProjection)[]).every((part) => after[part] === before[part])
  return unchanged ? before : after
}
