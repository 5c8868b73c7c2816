/** Selections of the sessions. Pure. */
import type { ProjectId, SessionId, SessionView } from '../../proto/index.ts'

/** The known sessions: the latest of each project, and all that are active. */
export type Sessions = ReadonlyMap<SessionId, SessionView>

/** The sessions of a project, the latest first, including those of handed-off tasks. */
export function selectSessions(sessions: Sessions, project: ProjectId): readonly SessionView[] {
  return [...sessions.values()].filter((session) => session.project === project).sort((a, b) => b.updatedAt - a.updatedAt)
}
