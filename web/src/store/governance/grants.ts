/** What people granted: a pure fold. */
import type { Event, Grant, GrantId, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** What is known of the grants. */
export type Grants = {
  readonly all: ReadonlyMap<GrantId, Grant>
  /** The place of the last event about grants whose body is kept beside the log. */
  readonly sealed: number
}

/** Before the first event. */
export const NO_GRANTS: Grants = { all: new Map(), sealed: 0 }

/** How a grant stands at a time. */
export type GrantStanding = 'holds' | 'revoked' | 'ended'

/** Folds one event. */
export function foldGrant(grants: Grants, event: Event): Grants {
  if (event.kind === 'GRANT_CREATED') {
    if (isTruncated(event)) return { ...grants, sealed: event.seq }
    const { grant: id, ...body } = event.body
    return withGrants(grants, [{ id, ...body, by: event.principal, at: event.at, revokedAt: null }])
  }
  if (event.kind === 'GRANT_REVOKED') {
    const grant = grants.all.get(event.body.grant)
    if (grant === undefined || grant.revokedAt !== null) return grants
    return { ...grants, all: new Map(grants.all).set(grant.id, { ...grant, revokedAt: event.at }) }
  }
  return grants
}

/** Adds grants as the daemon tells them. What the log said was taken back stays so. */
export function withGrants(grants: Grants, told: readonly Grant[]): Grants {
  const fresh = told.filter(({ id, revokedAt }) => {
    const known = grants.all.get(id)
    return known === undefined || (known.revokedAt === null && revokedAt !== null)
  })
  if (fresh.length === 0) return grants
  const all = new Map(grants.all)
  for (const grant of fresh) all.set(grant.id, grant)
  return { ...grants, all }
}

/** The grants of a project, the latest first. */
export function grantsOf(grants: Grants, project: ProjectId): readonly Grant[] {
  return [...grants.all.values()].filter((grant) => grant.project === project).sort((a, b) => b.at - a.at)
}

/** How a grant stands at a time in milliseconds. */
export function standingOf({ revokedAt, until }: Grant, now: number): GrantStanding {
  if (revokedAt !== null) return 'revoked'
  return until !== null && until / 1000 <= now ? 'ended' : 'holds'
}
