/** Approvals: pending is what the log says is pending, in whatever order it becomes known. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { foldApprovals, NO_APPROVALS, pendingApprovals, resolvedApprovals, withApproval, type Approvals } from './approvals.ts'
import { answered, requested, sampleEvent, truncated } from '../testing/sample-events.ts'

const folded = (...events: readonly Event[]): Approvals => events.reduce(foldApprovals, NO_APPROVALS)
const ids = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id)

describe('an approval', () => {
  it('takes the requester and the time from the envelope', () => {
    const [one] = pendingApprovals(folded(sampleEvent(3, requested('q1'), { principal: 'token:t1', actor: 'agent:claude' })))
    expect(one).toMatchObject({ id: 'q1', principal: 'token:t1', actor: 'agent:claude', askedAt: 3_000_000, status: 'pending', role: 'backend' })
  })

  it('that is answered keeps by whom, how and the message', () => {
    const state = folded(sampleEvent(1, requested('q1')), sampleEvent(2, answered('q1', 'deny', 'use pnpm'), { principal: 'local:eve', actor: 'cli', command: 'c1' }))
    expect(pendingApprovals(state)).toEqual([])
    expect(resolvedApprovals(state)[0]).toMatchObject({ status: 'denied', resolvedBy: 'local:eve', message: 'use pnpm', resolvedAt: 2_000_000 })
    expect(state.resolutions.get('q1')).toMatchObject({ actor: 'cli', command: 'c1' })
  })

  it('keeps its first answer', () => {
    const state = folded(sampleEvent(1, requested('q1')), sampleEvent(2, answered('q1', 'deny')), sampleEvent(3, answered('q1', 'allow')))
    expect(resolvedApprovals(state)[0]?.status).toBe('denied')
  })

  it.each([
    ['expired', sampleEvent(2, { kind: 'APPROVAL_EXPIRED', body: { approval: 'q1', project: 'p1' } })],
    ['withdrawn', sampleEvent(2, { kind: 'APPROVAL_WITHDRAWN', body: { approval: 'q1', project: 'p1', why: 'the file changed' } })],
  ])('may end as %s', (status, event) => {
    expect(resolvedApprovals(folded(sampleEvent(1, requested('q1')), event))[0]?.status).toBe(status)
  })

  it('that is fetched after its resolution does not become pending again', () => {
    const [whole] = pendingApprovals(folded(sampleEvent(1, requested('q1'))))
    const state = folded(sampleEvent(1, truncated(requested('q1'))), sampleEvent(2, answered('q1', 'allow')))
    expect(state.truncatedSeq).toBe(1)
    if (whole === undefined) throw new Error('not asked')
    expect(resolvedApprovals(withApproval(state, whole))[0]).toMatchObject({ id: 'q1', status: 'allowed' })
  })

  it('that is fetched as resolved is no longer pending', () => {
    const state = folded(sampleEvent(1, requested('q1')))
    const [whole] = pendingApprovals(state)
    if (whole === undefined) throw new Error('not asked')
    expect(pendingApprovals(withApproval(state, { ...whole, status: 'expired', resolvedAt: 9 }))).toEqual([])
    expect(withApproval(state, whole)).toBe(state)
  })

  it('that is pending is never removed, however many are resolved', () => {
    const events = Array.from({ length: 500 }, (_, i) => [sampleEvent(2 * i + 1, requested(`q${String(i)}`)), ...(i % 100 === 0 ? [] : [sampleEvent(2 * i + 2, answered(`q${String(i)}`, 'allow'))])]).flat()
    const state = folded(...events)
    expect(ids(pendingApprovals(state))).toEqual(['q0', 'q100', 'q200', 'q300', 'q400'])
    expect(resolvedApprovals(state)).toHaveLength(30)
    expect(resolvedApprovals(state)[0]?.id).toBe('q499')
    expect(state.resolutions.size).toBeLessThanOrEqual(200)
  })
})
