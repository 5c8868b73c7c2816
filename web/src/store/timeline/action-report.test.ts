/** Which events belong to the report of an action. */
import { expect, it } from 'vitest'
import { answered, requested, granted, opened, sampleEvent } from '../testing/samples.ts'
import { listApprovalIds, belongsToReport } from './action-report.svelte.ts'

it('contains the events of the action, of its approvals and of their grants', () => {
  const events = [
    sampleEvent(1, opened('p1')),
    sampleEvent(2, requested('q1')),
    sampleEvent(3, requested('q2')),
    sampleEvent(4, answered('q1', 'allow')),
    sampleEvent(5, answered('q2', 'deny')),
    sampleEvent(6, granted('g1')),
  ]
  const first = events.filter((event) => belongsToReport(event, 'a-q1', new Set()))
  expect(first.map(({ id }) => id)).toEqual(['e2'])
  const approvals = listApprovalIds(first)
  expect(events.filter((event) => belongsToReport(event, 'a-q1', approvals)).map(({ id }) => id)).toEqual(['e2', 'e4', 'e6'])
})
