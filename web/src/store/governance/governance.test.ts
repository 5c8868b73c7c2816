/** Modes, grants, file changes, submitted answers and the approval drawer. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnswerApprovalRequest, Approval } from '../../proto/index.ts'
import { submissionAfter, approvalState } from '../approvals/submitted-answers.svelte.ts'
import { foldApprovals, NO_APPROVALS, pendingApprovals } from '../approvals/approvals.ts'
import { ApprovalDrawer, neighbor, SETTLE_MS } from '../approvals/approval-drawer.svelte.ts'
import { foldGrants, grantsOf, NO_GRANTS, grantStatus, withGrants } from './grants.ts'
import { foldFileChanges, NO_FILE_CHANGES, lastPolicyChange, lastRolesChange } from './file-changes.ts'
import { foldModes, modeAt, NO_MODES } from './modes.ts'
import { answered, requested, granted, opened, sampleEvent, truncated } from '../testing/sample-events.ts'

function waiting(...ids: readonly string[]): readonly Approval[] {
  return pendingApprovals(ids.map((id, index) => sampleEvent(index + 1, requested(id))).reduce(foldApprovals, NO_APPROVALS))
}

describe('a mode', () => {
  const set = (until: number | null) => foldModes(NO_MODES, sampleEvent(1, { kind: 'MODE_CHANGED', body: { project: 'p1', mode: 'full', until } }))

  it('is sandbox until it is set', () => {
    expect(modeAt(NO_MODES, 'p1', 0)).toEqual({ mode: 'sandbox', remainingMs: null })
  })

  it('has an end, after which it is sandbox again', () => {
    expect(modeAt(set(90_000_000), 'p1', 30_000)).toEqual({ mode: 'full', remainingMs: 60_000 })
    expect(modeAt(set(90_000_000), 'p1', 90_000)).toEqual({ mode: 'sandbox', remainingMs: null })
    expect(modeAt(set(null), 'p1', 90_000)).toEqual({ mode: 'full', remainingMs: null })
  })
})

describe('a grant', () => {
  it('is active until it is revoked or expires', () => {
    const held = foldGrants(NO_GRANTS, sampleEvent(1, granted('g1', 5_000_000)))
    const [grant] = grantsOf(held, 'p1')
    if (grant === undefined) throw new Error('no grant')
    expect([grantStatus(grant, 4_999), grantStatus(grant, 5_000)]).toEqual(['active', 'expired'])
    const revoked = foldGrants(held, sampleEvent(2, { kind: 'GRANT_REVOKED', body: { grant: 'g1', project: 'p1' } }))
    expect(grantsOf(revoked, 'p1').map((grant) => grantStatus(grant, 0))).toEqual(['revoked'])
    // A list that was fetched before the revocation does not restore it.
    expect(withGrants(revoked, [grant])).toBe(revoked)
  })

  it('with a truncated event is known to be missing', () => {
    expect(foldGrants(NO_GRANTS, sampleEvent(7, truncated(granted('g1')))).truncatedSeq).toBe(7)
  })
})

describe('a file change', () => {
  it('is the seq at which roles or rules changed', () => {
    const events = [
      sampleEvent(1, opened('p1')),
      sampleEvent(2, { kind: 'ROLE_REJECTED', body: { project: 'p1', file: 'x', why: 'y' } }),
      sampleEvent(3, { kind: 'POLICY_CHANGED', body: { project: null, layer: 'user', hash: null, rules: 0, trusted: true, errors: [] } }),
      sampleEvent(4, { kind: 'FILE_TRUSTED', body: { project: 'p2', what: 'policy', file: 'x', hash: 'h', text: '' } }),
      sampleEvent(5, truncated({ kind: 'FILE_TRUSTED', body: { project: 'p3', what: 'role', file: 'x', hash: 'h', text: '' } }), { stream: 'project/p3' }),
    ]
    const changes = events.reduce(foldFileChanges, NO_FILE_CHANGES)
    expect(['p1', 'p2', 'p3'].map((project) => lastRolesChange(changes, project))).toEqual([2, 0, 5])
    expect(['p1', 'p2', 'p3'].map((project) => lastPolicyChange(changes, project))).toEqual([3, 4, 5])
  })
})

describe('an answer', () => {
  const [approval] = waiting('q1')
  if (approval === undefined) throw new Error('not asked')
  const answer: AnswerApprovalRequest = { decision: 'allow', scope: 'once', actionHash: approval.actionHash }

  it('is pending until the log confirms it, though the daemon accepted it', () => {
    expect(approvalState(approval, { kind: 'none' }, undefined)).toEqual({ kind: 'open' })
    expect(approvalState(approval, { kind: 'sending', answer }, undefined)).toEqual({ kind: 'sending', answer })
    expect(approvalState(approval, { kind: 'confirmed', answer }, undefined)).toEqual({ kind: 'sending', answer })
  })

  it('in the log was given here or elsewhere', () => {
    const done = sampleEvent(2, answered('q1', 'allow'), { actor: 'cli' })
    const state = foldApprovals(foldApprovals(NO_APPROVALS, sampleEvent(1, requested('q1'))), done)
    const ended = state.all.get('q1')
    if (ended === undefined) throw new Error('lost')
    const resolution = state.resolutions.get('q1')
    expect(approvalState(ended, { kind: 'confirmed', answer }, resolution).kind).toBe('confirmed')
    expect(approvalState(ended, { kind: 'none' }, resolution)).toMatchObject({ kind: 'resolvedElsewhere', actor: 'cli' })
    expect(approvalState(ended, { kind: 'late' }, resolution).kind).toBe('resolvedElsewhere')
    // The response to our own answer tells which one it is.
    expect(approvalState(ended, { kind: 'sending', answer }, resolution).kind).toBe('sending')
  })

  it('that failed says why, and a late one is distinguished', () => {
    const failed = submissionAfter(answer, { kind: 'failed', reason: 'The action has changed.', code: 'HASH_MISMATCH' })
    expect(approvalState(approval, failed, undefined)).toEqual({ kind: 'failed', reason: 'The action has changed.' })
    expect(submissionAfter(answer, { kind: 'failed', reason: 'x', code: 'APPROVAL_RESOLVED' })).toEqual({ kind: 'late' })
    expect(approvalState(approval, { kind: 'late' }, undefined)).toEqual({ kind: 'resolvedUnknown' })
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
