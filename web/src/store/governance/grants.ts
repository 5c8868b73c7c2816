/** The grants, folded from the log. Pure. */
import type { Event, Grant, GrantId, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** The known grants. */
export type Grants = {
  readonly all: ReadonlyMap<GrantId, Grant>
  /** The seq of the last truncated event about grants. */
  readonly truncatedSeq: number
}

/** The state before the first event. */
export const NO_GRANTS: Grants = { all: new Map(), truncatedSeq: 0 }

/** The status of a grant at a time. */
export type GrantStatus = 'active' | 'revoked' | 'expired'

/** Folds one event. */
export function foldGrants(grants: Grants, event: Event): Grants {
  if (event.kind === 'GRANT_CREATED') {
    if (isTruncated(event)) return { ...grants, truncatedSeq: event.seq }
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

/** Adds fetched grants. A grant that the log says is revoked stays revoked. */
export function withGrants(grants: Grants, fetched: readonly Grant[]): Grants {
  const changed = fetched.filter(({ id, revokedAt }) => {
    const known = grants.all.get(id)
    return known === undefined || (known.revokedAt === null && revokedAt !== null)
  })
  if (changed.length === 0) return grants
  const all = new Map(grants.all)
  for (const grant of changed) all.set(grant.id, grant)
  return { ...grants, all }
}

/** The grants of a project, the latest first. */
export function grantsOf(grants: Grants, project: ProjectId): readonly Grant[] {
  return [...grants.all.values()].filter((grant) => grant.project === project).sort((a, b) => b.at - a.at)
}

/** The status of a grant at a time in milliseconds. */
export function grantStatus({ revokedAt, until }: Grant, now: number): GrantStatus {
  if (revokedAt !== null) return 'revoked'
  return until !== null && until / 1000 <= now ? 'expired' : 'active'
}
