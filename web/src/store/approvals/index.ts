/** Approvals: pending and resolved ones, their order, the drawer and the answers. */
export { SETTLE_MS } from './approval-drawer.svelte.ts'
export { RISK_LABELS, classifyRisk, type Risk } from './risk.ts'
export type { ApprovalState, SubmissionState } from './submitted-answers.svelte.ts'
