/** Selections of the approvals. Pure. */
import type { ApprovalDocument, ApprovalId } from '../../proto/index.ts'

/** The known approvals: all pending ones, and the last resolved ones. */
export type Approvals = ReadonlyMap<ApprovalId, ApprovalDocument>

/** How many resolved approvals are listed. */
export const MAX_RESOLVED = 30

/** The pending approvals, in the order they were requested. */
export function pendingApprovals(approvals: Approvals): readonly ApprovalDocument[] {
  return [...approvals.values()].filter(({ status }) => status === 'pending').sort((a, b) => a.askedAt - b.askedAt)
}

/** The last resolved approvals, the latest first. */
export function resolvedApprovals(approvals: Approvals): readonly ApprovalDocument[] {
  return [...approvals.values()]
    .filter(({ status }) => status !== 'pending')
    .sort((a, b) => (b.resolvedAt ?? 0) - (a.resolvedAt ?? 0))
    .slice(0, MAX_RESOLVED)
}
