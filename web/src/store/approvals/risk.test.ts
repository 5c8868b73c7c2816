/** The order of questions. */
import { expect, it } from 'vitest'
import type { Approval, ApprovalPrompt } from '../../proto/index.ts'
import { foldApproval, NO_APPROVALS, pendingOf } from './approvals.ts'
import { byRisk, riskOf } from './risk.ts'
import { asked, sample } from '../testing/sample-events.ts'

function approval(seq: number, id: string, more: Partial<ApprovalPrompt>): Approval {
  const [one] = pendingOf(foldApproval(NO_APPROVALS, sample(seq, asked(id, more))))
  if (one === undefined) throw new Error('not asked')
  return one
}

const read = approval(1, 'read', { name: 'fs.readFile', demands: [] })
const write = approval(2, 'write', { name: 'fs.writeFile', demands: [] })
const run = approval(3, 'run', {})
const host = approval(4, 'host', { demands: [{ kind: 'run', argv: ['curl', 'x'], through: [], program: null, hosts: ['x'] }] })
const network = approval(5, 'network', { network: true })
const gate = approval(6, 'gate', { gate: 'it governs what Provost allows' })

it('is by degree: gate, network, what changes or runs, what reads; then by age', () => {
  const order = ['gate', 'host', 'network', 'write', 'run', 'read']
  expect(byRisk([read, write, run, host, network, gate]).map(({ id }) => id)).toEqual(order)
  expect(byRisk([gate, network, host, run, write, read]).map(({ id }) => id)).toEqual(order)
})

it('does not take a command that only reads for a harmless action', () => {
  expect(riskOf(approval(1, 'q', { demands: [{ kind: 'read', path: 'x' }] }))).toBe(2)
})
