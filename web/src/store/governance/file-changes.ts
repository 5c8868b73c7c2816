/**
 * When the files that govern a project last changed, as places in the log.
 *
 * The log says that a role or a rule changed; the whole of it is read from the
 * daemon again. So this says when to read.
 */
import type { Event, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** The places of the last changes. */
export type Marks = {
  readonly roles: ReadonlyMap<ProjectId, number>
  readonly policies: ReadonlyMap<ProjectId, number>
  /** Of rules that hold for every project. */
  readonly policy: number
}

/** Before the first event. */
export const NO_MARKS: Marks = { roles: new Map(), policies: new Map(), policy: 0 }

/** Folds one event. */
export function foldMarks(marks: Marks, event: Event): Marks {
  switch (event.kind) {
    case 'ROLE_LOADED':
    case 'ROLE_REJECTED':
      return roles(marks, event)
    case 'FILE_TRUSTED':
      if (isTruncated(event)) return roles(policies(marks, event), event)
      return event.body.what === 'role' ? roles(marks, event) : policies(marks, event)
    case 'POLICY_CHANGED':
      return projectOf(event) === null ? { ...marks, policy: event.seq } : policies(marks, event)
    default:
      return marks
  }
}

/** The place of the last change of a project's roles. */
export function rolesMark(marks: Marks, project: ProjectId): number {
  return marks.roles.get(project) ?? 0
}

/** The place of the last change of the rules that hold in a project. */
export function policyMark(marks: Marks, project: ProjectId): number {
  return Math.max(marks.policies.get(project) ?? 0, marks.policy)
}

function roles(marks: Marks, event: Event): Marks {
  const project = projectOf(event)
  return project === null ? marks : { ...marks, roles: new Map(marks.roles).set(project, event.seq) }
}

function policies(marks: Marks, event: Event): Marks {
  const project = projectOf(event)
  return project === null ? marks : { ...marks, policies: new Map(marks.policies).set(project, event.seq) }
}

function projectOf(event: Event): ProjectId | null {
  if ('project' in event.body && typeof event.body.project === 'string') return event.body.project
  return event.stream.startsWith('project/') ? event.stream.slice('project/'.length) : null
}
