/**
 * The approvals, folded from the log. Pure.
 *
 * An approval and its resolution may become known in any order: an approval whose
 * event is truncated is fetched later and must not become pending again.
 */
import type { AnswerScope, Approval, ApprovalId, ApprovalStatus, Event } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** How an approval was resolved. */
export type ApprovalResolution = {
  readonly status: Exclude<ApprovalStatus, 'pending'>
  readonly at: number
  readonly by: string
  readonly actor: string
  readonly scope: AnswerScope | null
  readonly message: string | null
  /** The id of the command that answered it, if there was one. */
  readonly command: string | null
}

/** The known approvals. */
export type Approvals = {
  /** The pending ones and the last resolved ones, in the order they were requested. */
  readonly all: ReadonlyMap<ApprovalId, Approval>
  /** The last resolutions. */
  readonly resolutions: ReadonlyMap<ApprovalId, ApprovalResolution>
  /** The seq of the last truncated event about approvals. */
  readonly truncatedSeq: number
}

/** The state before the first event. */
export const NO_APPROVALS: Approvals = { all: new Map(), resolutions: new Map(), truncatedSeq: 0 }

/** How many resolved approvals and how many resolutions are kept. */
const MAX_RESOLVED = 30
const MAX_RESOLUTIONS = 200

/** Folds one event; events about other things change nothing. */
export function foldApprovals(approvals: Approvals, event: Event): Approvals {
  switch (event.kind) {
    case 'APPROVAL_ASKED':
      return isTruncated(event) ? { ...approvals, truncatedSeq: event.seq } : withApproval(approvals, approvalFrom(event))
    case 'APPROVAL_ANSWERED':
    case 'APPROVAL_EXPIRED':
    case 'APPROVAL_WITHDRAWN':
      if (isTruncated(event)) return { ...approvals, truncatedSeq: event.seq }
      return resolve(approvals, event.body.approval, resolutionFrom(event))
    default:
      return approvals
  }
}

/** Adds a fetched approval. A resolution from the log takes precedence. */
export function withApproval(approvals: Approvals, approval: Approval): Approvals {
  const resolution = approvals.resolutions.get(approval.id)
  const known = approvals.all.get(approval.id)
  if (known !== undefined && (known.status !== 'pending' || approval.status === 'pending')) return approvals
  const current = resolution === undefined ? approval : resolved(approval, resolution)
  return { ...approvals, all: withoutOldest(new Map(approvals.all).set(approval.id, current)) }
}

/** The pending approvals, in the order they were requested. */
export function pendingApprovals(approvals: Approvals): readonly Approval[] {
  return [...approvals.all.values()].filter(({ status }) => status === 'pending').sort((a, b) => a.askedAt - b.askedAt)
}

/** The resolved approvals, the latest first. */
export function resolvedApprovals(approvals: Approvals): readonly Approval[] {
  return [...approvals.all.values()]
    .filter(({ status }) => status !== 'pending')
    .sort((a, b) => (b.resolvedAt ?? 0) - (a.resolvedAt ?? 0))
}

function resolve(approvals: Approvals, id: ApprovalId, resolution: ApprovalResolution): Approvals {
  // The first resolution counts.
  if (approvals.resolutions.has(id)) return approvals
  const resolutions = new Map(approvals.resolutions).set(id, resolution)
  for (const oldest of resolutions.keys()) {
    if (resolutions.size <= MAX_RESOLUTIONS) break
    resolutions.delete(oldest)
  }
  const approval = approvals.all.get(id)
  if (approval?.status !== 'pending') return { ...approvals, resolutions }
  return { ...approvals, resolutions, all: withoutOldest(new Map(approvals.all).set(id, resolved(approval, resolution))) }
}

function resolved(approval: Approval, { status, at, by, scope, message }: ApprovalResolution): Approval {
  return { ...approval, status, resolvedAt: at, resolvedBy: by, scope, message }
}

/** Removes the oldest resolved approvals above the limit. */
function withoutOldest(all: Map<ApprovalId, Approval>): Map<ApprovalId, Approval> {
  const resolvedOnes = [...all.values()].filter(({ status }) => status !== 'pending')
  if (resolvedOnes.length <= MAX_RESOLVED) return all
  resolvedOnes.sort((a, b) => (a.resolvedAt ?? 0) - (b.resolvedAt ?? 0))
  for (const { id } of resolvedOnes.slice(0, resolvedOnes.length - MAX_RESOLVED)) all.delete(id)
  return all
}

function approvalFrom(event: Extract<Event, { kind: 'APPROVAL_ASKED' }>): Approval {
  const { approval: id, ...body } = event.body
  return {
    id,
    ...body,
    principal: event.principal,
    actor: event.actor,
    status: 'pending',
    askedAt: event.at,
    resolvedAt: null,
    resolvedBy: null,
    scope: null,
    message: null,
  }
}

type ResolutionEvent = Extract<Event, { kind: 'APPROVAL_ANSWERED' | 'APPROVAL_EXPIRED' | 'APPROVAL_WITHDRAWN' }>

function resolutionFrom(event: ResolutionEvent): ApprovalResolution {
  const { at, principal: by, actor, command } = event
  switch (event.kind) {
    case 'APPROVAL_ANSWERED': {
      const { decision, scope, message } = event.body
      return { status: decision === 'allow' ? 'allowed' : 'denied', at, by, actor, scope, message, command }
    }
    case 'APPROVAL_EXPIRED':
      return { status: 'expired', at, by, actor, scope: null, message: null, command }
    case 'APPROVAL_WITHDRAWN':
      return { status: 'withdrawn', at, by, actor, scope: null, message: event.body.why, command }
  }
}
