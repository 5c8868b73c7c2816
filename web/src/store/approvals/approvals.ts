/**
 * The questions to people: a pure fold.
 *
 * The order in which a question and its end become known does not matter: a
 * question whose body is kept beside the log is fetched later, and must then
 * not be open again.
 */
import type { AnswerScope, Approval, ApprovalId, ApprovalStatus, Event } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** How a question ended. */
export type Ending = {
  readonly status: Exclude<ApprovalStatus, 'pending'>
  readonly at: number
  readonly by: string
  readonly actor: string
  readonly scope: AnswerScope | null
  readonly message: string | null
  /** The command whose answer it was, if it came with one. */
  readonly command: string | null
}

/** What is known of the questions. */
export type Approvals = {
  /** Those that wait, and the last ones that ended, in the order they were asked. */
  readonly all: ReadonlyMap<ApprovalId, Approval>
  /** The last endings. */
  readonly endings: ReadonlyMap<ApprovalId, Ending>
  /** The place of the last event about questions whose body is kept beside the log. */
  readonly sealed: number
}

/** Before the first event. */
export const NO_APPROVALS: Approvals = { all: new Map(), endings: new Map(), sealed: 0 }

/** How many questions that ended are kept, and how many endings. */
const KEPT = 30
const ENDINGS = 200

/** Folds one event; kinds that say nothing about questions change nothing. */
export function foldApproval(approvals: Approvals, event: Event): Approvals {
  switch (event.kind) {
    case 'APPROVAL_ASKED':
      return isTruncated(event) ? { ...approvals, sealed: event.seq } : withApproval(approvals, asked(event))
    case 'APPROVAL_ANSWERED':
    case 'APPROVAL_EXPIRED':
    case 'APPROVAL_WITHDRAWN':
      if (isTruncated(event)) return { ...approvals, sealed: event.seq }
      return end(approvals, event.body.approval, endingOf(event))
    default:
      return approvals
  }
}

/** Adds a question as the daemon tells it. An ending that the log told stays. */
export function withApproval(approvals: Approvals, approval: Approval): Approvals {
  const ending = approvals.endings.get(approval.id)
  const known = approvals.all.get(approval.id)
  if (known !== undefined && (known.status !== 'pending' || approval.status === 'pending')) return approvals
  const now = ending === undefined ? approval : ended(approval, ending)
  return { ...approvals, all: trimmed(new Map(approvals.all).set(approval.id, now)) }
}

/** The questions that wait, in the order they were asked. */
export function pendingOf(approvals: Approvals): readonly Approval[] {
  return [...approvals.all.values()].filter(({ status }) => status === 'pending').sort((a, b) => a.askedAt - b.askedAt)
}

/** The questions that ended, the latest first. */
export function endedOf(approvals: Approvals): readonly Approval[] {
  return [...approvals.all.values()]
    .filter(({ status }) => status !== 'pending')
    .sort((a, b) => (b.resolvedAt ?? 0) - (a.resolvedAt ?? 0))
}

function end(approvals: Approvals, id: ApprovalId, ending: Ending): Approvals {
  // What ended stays so: the first answer is the answer.
  if (approvals.endings.has(id)) return approvals
  const endings = new Map(approvals.endings).set(id, ending)
  for (const old of endings.keys()) {
    if (endings.size <= ENDINGS) break
    endings.delete(old)
  }
  const approval = approvals.all.get(id)
  if (approval?.status !== 'pending') return { ...approvals, endings }
  return { ...approvals, endings, all: trimmed(new Map(approvals.all).set(id, ended(approval, ending))) }
}

function ended(approval: Approval, { status, at, by, scope, message }: Ending): Approval {
  return { ...approval, status, resolvedAt: at, resolvedBy: by, scope, message }
}

/** Lets the oldest of those that ended go. */
function trimmed(all: Map<ApprovalId, Approval>): Map<ApprovalId, Approval> {
  const over = [...all.values()].filter(({ status }) => status !== 'pending')
  if (over.length <= KEPT) return all
  over.sort((a, b) => (a.resolvedAt ?? 0) - (b.resolvedAt ?? 0))
  for (const { id } of over.slice(0, over.length - KEPT)) all.delete(id)
  return all
}

function asked(event: Extract<Event, { kind: 'APPROVAL_ASKED' }>): Approval {
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

type End = Extract<Event, { kind: 'APPROVAL_ANSWERED' | 'APPROVAL_EXPIRED' | 'APPROVAL_WITHDRAWN' }>

function endingOf(event: End): Ending {
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
