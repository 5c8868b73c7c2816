/** The modes of the projects at a time. Pure. */
import type { ProjectId, ProjectMode, ProjectModeView } from '../../proto/index.ts'

/** The last mode that was set, by project. */
export type Modes = ReadonlyMap<ProjectId, ProjectModeView>

/** The mode of a project at a time. */
export type CurrentMode = {
  readonly mode: ProjectMode
  /** The milliseconds until it ends; null if it has no end. */
  readonly remainingMs: number | null
}

/** The mode of a project at a time in milliseconds. After its end the mode is `sandbox`. */
export function modeAt(modes: Modes, project: ProjectId, now: number): CurrentMode {
  const set = modes.get(project)
  if (set === undefined) return { mode: 'sandbox', remainingMs: null }
  if (set.until === null) return { mode: set.mode, remainingMs: null }
  const remainingMs = set.until / 1000 - now
  return remainingMs > 0 ? { mode: set.mode, remainingMs } : { mode: 'sandbox', remainingMs: null }
}
