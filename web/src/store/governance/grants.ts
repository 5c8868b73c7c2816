/** Selections of the grants. Pure. */
import type { Grant, GrantId, ProjectId } from '../../proto/index.ts'

/** The known grants: all that are valid, and the last others. */
export type Grants = ReadonlyMap<GrantId, Grant>

/** The status of a grant at a time. */
export type GrantStatus = 'active' | 'revoked' | 'expired'

/** The grants of a project, the latest first. */
export function selectGrants(grants: Grants, project: ProjectId): readonly Grant[] {
  return [...grants.values()].filter((grant) => grant.project === project).sort((a, b) => b.at - a.at)
}

/** The status of a grant at a time in milliseconds. */
export function grantStatus({ revokedAt, until }: Grant, now: number): GrantStatus {
  if (revokedAt !== null) return 'revoked'
  return until !== null && until / 1000 <= now ? 'expired' : 'active'
}
