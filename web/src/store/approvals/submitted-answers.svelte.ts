/**
 * The answers that were submitted from this page, until the log confirms them.
 *
 * Whether an approval is resolved is decided by the log alone. This only keeps what
 * was submitted here, to distinguish it from answers given elsewhere.
 */
import type { AnswerApprovalRequest, Approval, ApprovalId, Code } from '../../proto/index.ts'
import type { CommandOutcome } from '../commands/command-tracker.svelte.ts'

/** The state of an answer that was submitted from this page. */
export type SubmissionState =
  | { readonly kind: 'none' }
  | { readonly kind: 'sending'; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'confirmed'; readonly answer: AnswerApprovalRequest }
  /** The approval was already resolved. */
  | { readonly kind: 'late' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

/** The state of an approval as it is shown. */
export type ApprovalState =
  | { readonly kind: 'open' }
  | { readonly kind: 'sending'; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'failed'; readonly reason: string }
  /** Resolved according to the daemon; the log does not show by whom yet. */
  | { readonly kind: 'resolvedUnknown' }
  | { readonly kind: 'confirmed'; readonly approval: Approval }
  | { readonly kind: 'resolvedElsewhere'; readonly approval: Approval; readonly actor: string | null }

const NONE: SubmissionState = { kind: 'none' }

/** Combines the log and the submission. The log takes precedence. */
export function approvalState(approval: Approval, submission: SubmissionState): ApprovalState {
  if (approval.status !== 'pending') {
    // While a submission is in flight, only its response tells whether this resolution is ours.
    if (submission.kind === 'sending') return { kind: 'sending', answer: submission.answer }
    return submission.kind === 'confirmed' ? { kind: 'confirmed', approval } : { kind: 'resolvedElsewhere', approval, actor: approval.resolvedActor ?? null }
  }
  switch (submission.kind) {
    case 'none':
      return { kind: 'open' }
    case 'sending':
    case 'confirmed':
      return { kind: 'sending', answer: submission.answer }
    case 'late':
      return { kind: 'resolvedUnknown' }
    case 'failed':
      return { kind: 'failed', reason: submission.reason }
  }
}

/** The state of a submission after its command has ended. */
export function submissionAfter(answer: AnswerApprovalRequest, outcome: CommandOutcome): SubmissionState {
  if (outcome.kind !== 'failed') return { kind: 'confirmed', answer }
  if (outcome.code === 'APPROVAL_RESOLVED') return { kind: 'late' }
  return { kind: 'failed', reason: outcome.reason, code: outcome.code }
}

/** See the head of this file. */
export class SubmittedAnswers {
  #states = $state.raw<ReadonlyMap<ApprovalId, SubmissionState>>(new Map())

  /** The state of the submission for an approval. */
  get(id: ApprovalId): SubmissionState {
    return this.#states.get(id) ?? NONE
  }

  /** Whether a submission is in flight. */
  isSending(id: ApprovalId): boolean {
    return this.get(id).kind === 'sending'
  }

  /** Sets the state of a submission. */
  set(id: ApprovalId, state: SubmissionState): void {
    this.#states = new Map(this.#states).set(id, state)
  }

  /** Removes the submissions for approvals that are no longer known. */
  retain(known: ReadonlyMap<ApprovalId, Approval>): void {
    if (this.#states.size === 0) return
    const kept = [...this.#states].filter(([id, state]) => known.has(id) || state.kind === 'sending')
    if (kept.length < this.#states.size) this.#states = new Map(kept)
  }
}
