/** Questions: what waits is what the log says waits, in whatever order it becomes known. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { endedOf, foldApproval, NO_APPROVALS, pendingOf, withApproval, type Approvals } from './approvals.ts'
import { answered, asked, sample, sealed } from '../testing/sample-events.ts'

const folded = (...events: readonly Event[]): Approvals => events.reduce(foldApproval, NO_APPROVALS)
const ids = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id)

describe('a question', () => {
  it('takes who asks and when from the envelope', () => {
    const [one] = pendingOf(folded(sample(3, asked('q1'), { principal: 'token:t1', actor: 'agent:claude' })))
    expect(one).toMatchObject({ id: 'q1', principal: 'token:t1', actor: 'agent:claude', askedAt: 3_000_000, status: 'pending', role: 'backend' })
  })

  it('that is answered keeps who, how and with which words', () => {
    const state = folded(sample(1, asked('q1')), sample(2, answered('q1', 'deny', 'use pnpm'), { principal: 'local:eve', actor: 'cli', command: 'c1' }))
    expect(pendingOf(state)).toEqual([])
    expect(endedOf(state)[0]).toMatchObject({ status: 'denied', resolvedBy: 'local:eve', message: 'use pnpm', resolvedAt: 2_000_000 })
    expect(state.endings.get('q1')).toMatchObject({ actor: 'cli', command: 'c1' })
  })

  it('keeps its first answer', () => {
    const state = folded(sample(1, asked('q1')), sample(2, answered('q1', 'deny')), sample(3, answered('q1', 'allow')))
    expect(endedOf(state)[0]?.status).toBe('denied')
  })

  it.each([
    ['expired', sample(2, { kind: 'APPROVAL_EXPIRED', body: { approval: 'q1', project: 'p1' } })],
    ['withdrawn', sample(2, { kind: 'APPROVAL_WITHDRAWN', body: { approval: 'q1', project: 'p1', why: 'the file changed' } })],
  ])('may end as %s', (status, event) => {
    expect(endedOf(folded(sample(1, asked('q1')), event))[0]?.status).toBe(status)
  })

  it('that is fetched after its end does not wait again', () => {
    const [whole] = pendingOf(folded(sample(1, asked('q1'))))
    const state = folded(sample(1, sealed(asked('q1'))), sample(2, answered('q1', 'allow')))
    expect(state.sealed).toBe(1)
    if (whole === undefined) throw new Error('not asked')
    expect(endedOf(withApproval(state, whole))[0]).toMatchObject({ id: 'q1', status: 'allowed' })
  })

  it('that is fetched as ended ends what waits here', () => {
    const state = folded(sample(1, asked('q1')))
    const [whole] = pendingOf(state)
    if (whole === undefined) throw new Error('not asked')
    expect(pendingOf(withApproval(state, { ...whole, status: 'expired', resolvedAt: 9 }))).toEqual([])
    expect(withApproval(state, whole)).toBe(state)
  })

  it('that waits is never let go, however many ended', () => {
    const events = Array.from({ length: 500 }, (_, i) => [sample(2 * i + 1, asked(`q${String(i)}`)), ...(i % 100 === 0 ? [] : [sample(2 * i + 2, answered(`q${String(i)}`, 'allow'))])]).flat()
    const state = folded(...events)
    expect(ids(pendingOf(state))).toEqual(['q0', 'q100', 'q200', 'q300', 'q400'])
    expect(endedOf(state)).toHaveLength(30)
    expect(endedOf(state)[0]?.id).toBe('q499')
    expect(state.endings.size).toBeLessThanOrEqual(200)
  })
})
