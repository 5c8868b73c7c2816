/** The order of pending approvals: the highest risk first, then the oldest. Pure. */
import type { Approval } from '../../proto/index.ts'

/** The risk of an approval; lower numbers are more severe. */
export type Risk = 0 | 1 | 2 | 3

/** The label of each risk. */
export const RISK_LABELS = ['hard gate', 'network', 'writes or runs', 'reads'] as const

/** The risk of an approval: a hard gate, network access, a write or a run, or a read. */
export function classifyRisk({ question: prompt }: Approval): Risk {
  if (prompt.gate !== null) return 0
  if (prompt.network || prompt.demands.some((effect) => effect.kind === 'run' && effect.hosts.length > 0)) return 1
  const reads = /^fs\.(?:read|list|search|stat)/.test(prompt.name) || prompt.name === 'terminal.list' || prompt.name === 'terminal.read'
  return reads && prompt.demands.every(({ kind }) => kind === 'read') ? 3 : 2
}

/** Sorts by risk; of the same risk, the oldest first. */
export function sortByRisk(approvals: readonly Approval[]): readonly Approval[] {
  return [...approvals].sort((a, b) => classifyRisk(a) - classifyRisk(b) || a.askedAt - b.askedAt || (a.id < b.id ? -1 : 1))
}
