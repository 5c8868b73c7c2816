/** The runtime of a project, from its documents. */
import { describe, expect, it } from 'vitest'
import type { KernelView, RuntimeView } from '../../proto/index.ts'
import { sampleCursor } from '../testing/samples.ts'
import { kernelState, runtimeState } from './runtimes.ts'

const kernel: KernelView = { project: 'p1', boot: 'b1', pid: 3, version: '0.1.0', status: 'connected', reached: 0 }

describe('the runtime of a project', () => {
  it('is stopped while nothing is known', () => {
    expect(runtimeState('p1', undefined, undefined)).toMatchObject({ view: { project: 'p1', status: 'stopped' }, kernel: { kind: 'none' }, hasTerminal: false })
  })

  it('knows since when a port responds', () => {
    const view = { ...runtimeState('p1', undefined, undefined).view, respondingSince: { '5173': sampleCursor(9) }, hasTerminal: true } satisfies RuntimeView
    const state = runtimeState('p1', view, kernel)
    expect([state.respondingPorts.get(5173), state.hasTerminal]).toEqual([9, true])
  })

  it.each([
    [{}, { kind: 'connected', pid: 3 }],
    [{ status: 'unresponsive' }, { kind: 'unresponsive', pid: 3 }],
    [{ status: 'lost', why: 'it died' }, { kind: 'lost', why: 'it died' }],
    [{ status: 'stopped' }, { kind: 'stopped' }],
  ] as const)('has a kernel: %j', (more, expected) => {
    expect(kernelState({ ...kernel, ...more })).toEqual(expected)
  })
})
