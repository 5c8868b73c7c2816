/** The order of pending approvals. */
import { expect, it } from 'vitest'
import type { Approval, ApprovalPrompt } from '../../proto/index.ts'
import { sortByRisk, classifyRisk } from './risk.ts'
import { sampleApproval, samplePrompt } from '../testing/samples.ts'

function approval(seq: number, id: string, more: Partial<ApprovalPrompt>): Approval {
  return sampleApproval(id, { askedAt: seq, question: samplePrompt(more) })
}

const read = approval(1, 'read', { name: 'fs.readFile', demands: [] })
const write = approval(2, 'write', { name: 'fs.writeFile', demands: [] })
const run = approval(3, 'run', {})
const host = approval(4, 'host', { demands: [{ kind: 'run', argv: ['curl', 'x'], through: [], program: null, hosts: ['x'] }] })
const network = approval(5, 'network', { network: true })
const gate = approval(6, 'gate', { gate: 'it governs what Provost allows' })

it('is by risk: gate, network, writes and runs, reads; then by age', () => {
  const order = ['gate', 'host', 'network', 'write', 'run', 'read']
  expect(sortByRisk([read, write, run, host, network, gate]).map(({ id }) => id)).toEqual(order)
  expect(sortByRisk([gate, network, host, run, write, read]).map(({ id }) => id)).toEqual(order)
})

it('does not rate a command that only reads as a read', () => {
  expect(classifyRisk(approval(1, 'q', { demands: [{ kind: 'read', path: 'x' }] }))).toBe(2)
})
