/**
 * The answers a person gave to questions, each until the log confirms it.
 *
 * What is shown as answered is what the log says; this only remembers what was
 * sent from here, to tell it from what was answered elsewhere.
 */
import type { AnswerApprovalRequest, Approval, ApprovalId, Code } from '../../proto/index.ts'
import type { Ending } from './approvals.ts'
import type { Outcome } from '../commands/command-tracker.svelte.ts'

/** What was sent from here for a question. */
export type Sent =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending'; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'confirmed'; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'late' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

/** How a question stands, for the one who looks at it. */
export type Standing =
  | { readonly kind: 'open' }
  | { readonly kind: 'sending'; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The daemon says it was answered; the log will say by whom. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'confirmed'; readonly approval: Approval }
  | { readonly kind: 'elsewhere'; readonly approval: Approval; readonly actor: string | null }

const IDLE: Sent = { kind: 'idle' }

/** What the log and what was sent come to. The log wins. */
export function standing(approval: Approval, sent: Sent, ending: Ending | undefined): Standing {
  if (approval.status !== 'pending') {
    // While mine is under way, only its answer can tell whether this is it.
    if (sent.kind === 'sending') return { kind: 'sending', answer: sent.answer }
    return sent.kind === 'confirmed' ? { kind: 'confirmed', approval } : { kind: 'elsewhere', approval, actor: ending?.actor ?? null }
  }
  switch (sent.kind) {
    case 'idle':
      return { kind: 'open' }
    case 'sending':
    case 'confirmed':
      return { kind: 'sending', answer: sent.answer }
    case 'late':
      return { kind: 'gone' }
    case 'failed':
      return { kind: 'failed', reason: sent.reason }
  }
}

/** What the end of a command makes of an answer that was sent. */
export function sentAfter(answer: AnswerApprovalRequest, outcome: Outcome): Sent {
  if (outcome.kind !== 'failed') return { kind: 'confirmed', answer }
  if (outcome.code === 'APPROVAL_RESOLVED') return { kind: 'late' }
  return { kind: 'failed', reason: outcome.reason, code: outcome.code }
}

/** See the head of this file. */
export class Answers {
  #sent = $state.raw<ReadonlyMap<ApprovalId, Sent>>(new Map())

  /** What was sent for a question. */
  of(id: ApprovalId): Sent {
    return this.#sent.get(id) ?? IDLE
  }

  /** Whether an answer is under way. */
  busy(id: ApprovalId): boolean {
    return this.of(id).kind === 'sending'
  }

  /** Remembers how an answer stands. */
  set(id: ApprovalId, sent: Sent): void {
    this.#sent = new Map(this.#sent).set(id, sent)
  }

  /** Forgets the answers to questions that are no longer known. */
  keep(known: ReadonlyMap<ApprovalId, Approval>): void {
    if (this.#sent.size === 0) return
    const kept = [...this.#sent].filter(([id, sent]) => known.has(id) || sent.kind === 'sending')
    if (kept.length < this.#sent.size) this.#sent = new Map(kept)
  }
}
