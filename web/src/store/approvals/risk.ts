/** In which order questions are put to a person: the gravest first, then the oldest. Pure. */
import type { Approval } from '../../proto/index.ts'

/** How grave a question is; lower is graver. */
export type Risk = 0 | 1 | 2 | 3

/** What each degree is called. */
export const RISKS = ['hard gate', 'network', 'changes or runs something', 'only reads'] as const

/** The degree of a question: a hard gate, the network, what writes or runs, the rest. */
export function riskOf({ question }: Approval): Risk {
  if (question.gate !== null) return 0
  if (question.network || question.demands.some((demand) => demand.kind === 'run' && demand.hosts.length > 0)) return 1
  const reads = /^fs\.(?:read|list|search|stat)/.test(question.name) || question.name === 'terminal.list' || question.name === 'terminal.read'
  return reads && question.demands.every(({ kind }) => kind === 'read') ? 3 : 2
}

/** The gravest first; of the same degree, the one that has waited longest. */
export function byRisk(approvals: readonly Approval[]): readonly Approval[] {
  return [...approvals].sort((a, b) => riskOf(a) - riskOf(b) || a.askedAt - b.askedAt || (a.id < b.id ? -1 : 1))
}
