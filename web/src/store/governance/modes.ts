/** The modes of the projects: a pure fold, and what a mode is at a time. */
import type { Event, ProjectMode, ProjectModeView, ProjectId } from '../../proto/index.ts'

/** What was set last, by project. */
export type Modes = ReadonlyMap<ProjectId, ProjectModeView>

/** Before the first event. */
export const NO_MODES: Modes = new Map()

/** A mode as it holds at a time. */
export type ModeNow = {
  readonly mode: ProjectMode
  /** How many milliseconds are left of it; null if it has no end. */
  readonly left: number | null
}

/** Folds one event. */
export function foldMode(modes: Modes, event: Event): Modes {
  if (event.kind !== 'MODE_CHANGED') return modes
  const { project, mode, until } = event.body
  return new Map(modes).set(project, { project, mode, until, by: event.principal, at: event.at })
}

/** The mode of a project at a time in milliseconds; after its end it is `sandbox`. */
export function modeAt(modes: Modes, project: ProjectId, now: number): ModeNow {
  const set = modes.get(project)
  if (set === undefined) return { mode: 'sandbox', left: null }
  if (set.until === null) return { mode: set.mode, left: null }
  const left = set.until / 1000 - now
  return left > 0 ? { mode: set.mode, left } : { mode: 'sandbox', left: null }
}
