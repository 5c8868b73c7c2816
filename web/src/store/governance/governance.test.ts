/** Modes, grants, marks, answers and the desk: pure parts of what governs. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnswerApprovalRequest, Approval } from '../../proto/index.ts'
import { sentAfter, standing } from '../approvals/submitted-answers.svelte.ts'
import { foldApproval, NO_APPROVALS, pendingOf } from '../approvals/approvals.ts'
import { Desk, neighbor, SETTLE_MS } from '../approvals/approval-drawer.svelte.ts'
import { foldGrant, grantsOf, NO_GRANTS, standingOf, withGrants } from './grants.ts'
import { foldMarks, NO_MARKS, policyMark, rolesMark } from './file-changes.ts'
import { foldMode, modeAt, NO_MODES } from './modes.ts'
import { answered, asked, granted, opened, sample, sealed } from '../testing/sample-events.ts'

function waiting(...ids: readonly string[]): readonly Approval[] {
  return pendingOf(ids.map((id, index) => sample(index + 1, asked(id))).reduce(foldApproval, NO_APPROVALS))
}

describe('a mode', () => {
  const set = (until: number | null) => foldMode(NO_MODES, sample(1, { kind: 'MODE_CHANGED', body: { project: 'p1', mode: 'full', until } }))

  it('is sandbox until it is set', () => {
    expect(modeAt(NO_MODES, 'p1', 0)).toEqual({ mode: 'sandbox', left: null })
  })

  it('has an end, after which it is sandbox again', () => {
    expect(modeAt(set(90_000_000), 'p1', 30_000)).toEqual({ mode: 'full', left: 60_000 })
    expect(modeAt(set(90_000_000), 'p1', 90_000)).toEqual({ mode: 'sandbox', left: null })
    expect(modeAt(set(null), 'p1', 90_000)).toEqual({ mode: 'full', left: null })
  })
})

describe('a grant', () => {
  it('holds until it is taken back or ends', () => {
    const held = foldGrant(NO_GRANTS, sample(1, granted('g1', 5_000_000)))
    const [grant] = grantsOf(held, 'p1')
    if (grant === undefined) throw new Error('no grant')
    expect([standingOf(grant, 4_999), standingOf(grant, 5_000)]).toEqual(['holds', 'ended'])
    const revoked = foldGrant(held, sample(2, { kind: 'GRANT_REVOKED', body: { grant: 'g1', project: 'p1' } }))
    expect(grantsOf(revoked, 'p1').map((one) => standingOf(one, 0))).toEqual(['revoked'])
    // A list that was on its way when it was taken back does not bring it back.
    expect(withGrants(revoked, [grant])).toBe(revoked)
  })

  it('whose body is beside the log is known to be missing', () => {
    expect(foldGrant(NO_GRANTS, sample(7, sealed(granted('g1')))).sealed).toBe(7)
  })
})

describe('a mark', () => {
  it('is the place where roles or rules changed', () => {
    const events = [
      sample(1, opened('p1')),
      sample(2, { kind: 'ROLE_REJECTED', body: { project: 'p1', file: 'x', why: 'y' } }),
      sample(3, { kind: 'POLICY_CHANGED', body: { project: null, layer: 'user', hash: null, rules: 0, trusted: true, errors: [] } }),
      sample(4, { kind: 'FILE_TRUSTED', body: { project: 'p2', what: 'policy', file: 'x', hash: 'h', text: '' } }),
      sample(5, sealed({ kind: 'FILE_TRUSTED', body: { project: 'p3', what: 'role', file: 'x', hash: 'h', text: '' } }), { stream: 'project/p3' }),
    ]
    const marks = events.reduce(foldMarks, NO_MARKS)
    expect(['p1', 'p2', 'p3'].map((project) => rolesMark(marks, project))).toEqual([2, 0, 5])
    expect(['p1', 'p2', 'p3'].map((project) => policyMark(marks, project))).toEqual([3, 4, 5])
  })
})

describe('an answer', () => {
  const [approval] = waiting('q1')
  if (approval === undefined) throw new Error('not asked')
  const answer: AnswerApprovalRequest = { decision: 'allow', scope: 'once', actionHash: approval.actionHash }

  it('is pending until the log has it, though the daemon agreed', () => {
    expect(standing(approval, { kind: 'idle' }, undefined)).toEqual({ kind: 'open' })
    expect(standing(approval, { kind: 'sending', answer }, undefined)).toEqual({ kind: 'sending', answer })
    expect(standing(approval, { kind: 'confirmed', answer }, undefined)).toEqual({ kind: 'sending', answer })
  })

  it('that the log has is mine or came from elsewhere', () => {
    const done = sample(2, answered('q1', 'allow'), { actor: 'cli' })
    const state = foldApproval(foldApproval(NO_APPROVALS, sample(1, asked('q1'))), done)
    const ended = state.all.get('q1')
    if (ended === undefined) throw new Error('lost')
    const ending = state.endings.get('q1')
    expect(standing(ended, { kind: 'confirmed', answer }, ending).kind).toBe('confirmed')
    expect(standing(ended, { kind: 'idle' }, ending)).toMatchObject({ kind: 'elsewhere', actor: 'cli' })
    expect(standing(ended, { kind: 'late' }, ending).kind).toBe('elsewhere')
    // Whether it is mine is known when mine is answered.
    expect(standing(ended, { kind: 'sending', answer }, ending).kind).toBe('sending')
  })

  it('that failed says why, and that came too late is told apart', () => {
    const failed = sentAfter(answer, { kind: 'failed', reason: 'The action has changed.', code: 'HASH_MISMATCH' })
    expect(standing(approval, failed, undefined)).toEqual({ kind: 'failed', reason: 'The action has changed.' })
    expect(sentAfter(answer, { kind: 'failed', reason: 'x', code: 'APPROVAL_RESOLVED' })).toEqual({ kind: 'late' })
    expect(standing(approval, { kind: 'late' }, undefined)).toEqual({ kind: 'gone' })
  })
})

describe('the desk', () => {
  afterEach(() => void vi.useRealTimers())

  function desk(): Desk {
    return new Desk(() => undefined)
  }

  it('opens for what is new, and not again for what was put away', () => {
    const one = desk()
    expect(one.notice(waiting('q1')).map(({ id }) => id)).toEqual(['q1'])
    expect([one.open, one.selected]).toEqual([true, 'q1'])
    one.close()
    expect(one.notice(waiting('q1'))).toEqual([])
    expect(one.open).toBe(false)
    one.notice(waiting('q1', 'q2'))
    expect(one.open).toBe(true)
  })

  it('does not open by itself over a conversation, and still says what is new', () => {
    const one = desk()
    expect(one.notice(waiting('q1'), 'talking').map(({ id }) => id)).toEqual(['q1'])
    expect([one.open, one.selected]).toEqual([false, null])
    one.show(waiting('q1'))
    one.notice(waiting('q1', 'q2'), 'talking')
    expect([one.open, one.selected]).toEqual([true, 'q1'])
  })

  it('does not take away what is looked at when something new asks', () => {
    const one = desk()
    one.notice(waiting('q1'))
    one.notice([...waiting('q0', 'q1')])
    expect(one.selected).toBe('q1')
  })

  it('takes answers only after a question has lain on top for a while', () => {
    vi.useFakeTimers()
    const one = desk()
    one.notice(waiting('q1', 'q2'))
    expect(one.settled).toBe(false)
    vi.advanceTimersByTime(SETTLE_MS - 1)
    expect(one.settled).toBe(false)
    vi.advanceTimersByTime(1)
    expect(one.settled).toBe(true)
    one.select('q1')
    expect(one.settled).toBe(true)
    one.move(waiting('q1', 'q2'), 1)
    expect([one.selected, one.settled]).toEqual(['q2', false])
  })

  it('moves to neighbors and stops at the ends', () => {
    const order = waiting('q1', 'q2', 'q3')
    expect(neighbor(order, 'q1', 1)).toBe('q2')
    expect(neighbor(order, 'q3', 1)).toBe('q3')
    expect(neighbor(order, 'q1', -1)).toBe('q1')
    expect(neighbor(order, 'gone', 1)).toBe('q1')
    expect(neighbor([], 'q1', 1)).toBeNull()
  })
})
