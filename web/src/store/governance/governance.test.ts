/** Modes, grants, submitted answers and the approval drawer. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnswerApprovalRequest, Approval, ProjectModeView } from '../../proto/index.ts'
import { submissionAfter, approvalState } from '../approvals/submitted-answers.svelte.ts'
import { ApprovalDrawer, neighbor, SETTLE_MS } from '../approvals/approval-drawer.svelte.ts'
import { selectGrants, grantStatus } from './grants.ts'
import { modeAt } from './modes.ts'
import { sampleApproval, sampleGrant } from '../testing/samples.ts'

function waiting(...ids: readonly string[]): readonly Approval[] {
  return ids.map((id) => sampleApproval(id))
}

describe('a mode', () => {
  const set = (until: number | null): ReadonlyMap<string, ProjectModeView> => new Map([['p1', { project: 'p1', mode: 'full', until, by: 'local:ada', at: 1 }]])

  it('is sandbox until it is set', () => {
    expect(modeAt(new Map(), 'p1', 0)).toEqual({ mode: 'sandbox', remainingMs: null })
  })

  it('has an end, after which it is sandbox again', () => {
    expect(modeAt(set(90_000_000), 'p1', 30_000)).toEqual({ mode: 'full', remainingMs: 60_000 })
    expect(modeAt(set(90_000_000), 'p1', 90_000)).toEqual({ mode: 'sandbox', remainingMs: null })
    expect(modeAt(set(null), 'p1', 90_000)).toEqual({ mode: 'full', remainingMs: null })
  })
})

describe('a grant', () => {
  it('is active until it is revoked or expires', () => {
    const grant = sampleGrant('g1', { until: 5_000_000 })
    expect([grantStatus(grant, 4_999), grantStatus(grant, 5_000)]).toEqual(['active', 'expired'])
    expect(grantStatus({ ...grant, revokedAt: 1 }, 0)).toBe('revoked')
  })

  it('is listed in its project, the latest first', () => {
    const grants = [sampleGrant('g1', { at: 1 }), sampleGrant('g2', { at: 2 }), sampleGrant('g3', { at: 3, project: 'p2' })]
    expect(selectGrants(new Map(grants.map((grant) => [grant.id, grant])), 'p1').map(({ id }) => id)).toEqual(['g2', 'g1'])
  })
})

describe('an answer', () => {
  const [approval] = waiting('q1')
  if (approval === undefined) throw new Error('not asked')
  const answer: AnswerApprovalRequest = { decision: 'allow', scope: 'once', actionHash: approval.actionHash }

  it('is pending until the log confirms it, though the daemon accepted it', () => {
    expect(approvalState(approval, { kind: 'none' })).toEqual({ kind: 'open' })
    expect(approvalState(approval, { kind: 'sending', answer })).toEqual({ kind: 'sending', answer })
    expect(approvalState(approval, { kind: 'confirmed', answer })).toEqual({ kind: 'sending', answer })
  })

  it('in the log was given here or elsewhere', () => {
    const ended = sampleApproval('q1', { status: 'allowed', resolvedActor: 'cli' })
    expect(approvalState(ended, { kind: 'confirmed', answer }).kind).toBe('confirmed')
    expect(approvalState(ended, { kind: 'none' })).toMatchObject({ kind: 'resolvedElsewhere', actor: 'cli' })
    expect(approvalState(ended, { kind: 'late' }).kind).toBe('resolvedElsewhere')
    // The response to our own answer tells which one it is.
    expect(approvalState(ended, { kind: 'sending', answer }).kind).toBe('sending')
  })

  it('that failed says why, and a late one is distinguished', () => {
    const failed = submissionAfter(answer, { kind: 'failed', reason: 'The action has changed.', code: 'HASH_MISMATCH' })
    expect(approvalState(approval, failed)).toEqual({ kind: 'failed', reason: 'The action has changed.' })
    expect(submissionAfter(answer, { kind: 'failed', reason: 'x', code: 'APPROVAL_RESOLVED' })).toEqual({ kind: 'late' })
    expect(approvalState(approval, { kind: 'late' })).toEqual({ kind: 'resolvedUnknown' })
  })
})

describe('the approval drawer', () => {
  afterEach(() => void vi.useRealTimers())

  function newDrawer(): ApprovalDrawer {
    return new ApprovalDrawer(() => undefined)
  }

  it('opens for a new approval, and not again after it was closed', () => {
    const drawer = newDrawer()
    expect(drawer.update(waiting('q1')).map(({ id }) => id)).toEqual(['q1'])
    expect([drawer.open, drawer.selected]).toEqual([true, 'q1'])
    drawer.close()
    expect(drawer.update(waiting('q1'))).toEqual([])
    expect(drawer.open).toBe(false)
    drawer.update(waiting('q1', 'q2'))
    expect(drawer.open).toBe(true)
  })

  it('does not open over a conversation, and still returns the new ones', () => {
    const drawer = newDrawer()
    expect(drawer.update(waiting('q1'), 'conversation').map(({ id }) => id)).toEqual(['q1'])
    expect([drawer.open, drawer.selected]).toEqual([false, null])
    drawer.show(waiting('q1'))
    drawer.update(waiting('q1', 'q2'), 'conversation')
    expect([drawer.open, drawer.selected]).toEqual([true, 'q1'])
  })

  it('keeps the selected approval when a new one arrives', () => {
    const drawer = newDrawer()
    drawer.update(waiting('q1'))
    drawer.update([...waiting('q0', 'q1')])
    expect(drawer.selected).toBe('q1')
  })

  it('is settled only after an approval was selected for a while', () => {
    vi.useFakeTimers()
    const drawer = newDrawer()
    drawer.update(waiting('q1', 'q2'))
    expect(drawer.settled).toBe(false)
    vi.advanceTimersByTime(SETTLE_MS - 1)
    expect(drawer.settled).toBe(false)
    vi.advanceTimersByTime(1)
    expect(drawer.settled).toBe(true)
    drawer.select('q1')
    expect(drawer.settled).toBe(true)
    drawer.move(waiting('q1', 'q2'), 1)
    expect([drawer.selected, drawer.settled]).toEqual(['q2', false])
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
