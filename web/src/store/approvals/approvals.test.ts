/** The selections of approvals. */
import { describe, expect, it } from 'vitest'
import { pendingApprovals, resolvedApprovals, type Approvals } from './approvals.ts'
import { sampleApproval } from '../testing/samples.ts'

const approvals = (...list: readonly ReturnType<typeof sampleApproval>[]): Approvals => new Map(list.map((approval) => [approval.id, approval]))

describe('approvals', () => {
  it('that are pending are in the order they were requested', () => {
    const all = approvals(sampleApproval('q2', { askedAt: 2 }), sampleApproval('q1', { askedAt: 1 }), sampleApproval('q0', { askedAt: 0, status: 'expired' }))
    expect(pendingApprovals(all).map(({ id }) => id)).toEqual(['q1', 'q2'])
  })

  it('that are resolved are listed with the latest first, up to a limit', () => {
    const many = Array.from({ length: 50 }, (_, index) => sampleApproval(`q${String(index)}`, { status: 'allowed', resolvedAt: index }))
    const resolved = resolvedApprovals(approvals(...many, sampleApproval('pending')))
    expect(resolved).toHaveLength(30)
    expect(resolved[0]?.id).toBe('q49')
  })
})
