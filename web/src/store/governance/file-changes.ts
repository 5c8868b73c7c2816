/**
 * When the governance files of a project last changed, as seqs. Pure.
 *
 * The log only says that a role or a rule changed; its content is fetched from the
 * daemon. This says when to fetch.
 */
import type { Event, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** The seqs of the last changes. */
export type FileChanges = {
  readonly roles: ReadonlyMap<ProjectId, number>
  readonly policies: ReadonlyMap<ProjectId, number>
  /** Of rules that apply to every project. */
  readonly sharedPolicy: number
}

/** The state before the first event. */
export const NO_FILE_CHANGES: FileChanges = { roles: new Map(), policies: new Map(), sharedPolicy: 0 }

/** Folds one event. */
export function foldFileChanges(changes: FileChanges, event: Event): FileChanges {
  switch (event.kind) {
    case 'ROLE_LOADED':
    case 'ROLE_REJECTED':
      return withRolesChange(changes, event)
    case 'FILE_TRUSTED':
      if (isTruncated(event)) return withRolesChange(withPolicyChange(changes, event), event)
      return event.body.what === 'role' ? withRolesChange(changes, event) : withPolicyChange(changes, event)
    case 'POLICY_CHANGED':
      return projectOf(event) === null ? { ...changes, sharedPolicy: event.seq } : withPolicyChange(changes, event)
    default:
      return changes
  }
}

/** The seq of the last change of a project's roles. */
export function lastRolesChange(changes: FileChanges, project: ProjectId): number {
  return changes.roles.get(project) ?? 0
}

/** The seq of the last change of the rules that apply to a project. */
export function lastPolicyChange(changes: FileChanges, project: ProjectId): number {
  return Math.max(changes.policies.get(project) ?? 0, changes.sharedPolicy)
}

function withRolesChange(changes: FileChanges, event: Event): FileChanges {
  const project = projectOf(event)
  return project === null ? changes : { ...changes, roles: new Map(changes.roles).set(project, event.seq) }
}

function withPolicyChange(changes: FileChanges, event: Event): FileChanges {
  const project = projectOf(event)
  return project === null ? changes : { ...changes, policies: new Map(changes.policies).set(project, event.seq) }
}

function projectOf(event: Event): ProjectId | null {
  if ('project' in event.body && typeof event.body.project === 'string') return event.body.project
  return event.stream.startsWith('project/') ? event.stream.slice('project/'.length) : null
}
