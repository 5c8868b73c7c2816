/** The runtimes: folded from the log, and fetched where an event is truncated. */
import { describe, expect, it } from 'vitest'
import type { Event, Fact, RuntimeStatusResponse } from '../../proto/index.ts'
import { foldEvents, EMPTY_PROJECTION } from '../log/projection.ts'
import { initialRuntime, withRuntime } from './runtimes.ts'
import { runtimeFacts, randomRuntimeLog, sampleEvent, truncated } from '../testing/sample-events.ts'

const inProject = { stream: 'project/p1' } as const
const runtime = (facts: readonly Fact[]) => foldEvents(EMPTY_PROJECTION, facts.map((fact, index) => sampleEvent(index + 1, fact, inProject))).runtimes.get('p1') ?? initialRuntime('p1')

describe('the runtime of a project', () => {
  it('builds, runs, serves a preview, and stops', () => {
    const steps: readonly [Fact, object][] = [
      [runtimeFacts.starting(), { status: 'starting' }],
      [runtimeFacts.buildStarted(), { status: 'building', build: { status: 'running', pid: 5 } }],
      [runtimeFacts.buildSucceeded(), { status: 'starting', build: { status: 'succeeded', pid: null, durationMs: 9 } }],
      [runtimeFacts.started(), { status: 'running', devServer: { pid: 7, command: 'npm run dev', startedAt: 4_000_000 } }],
      [runtimeFacts.detected(), { preview: { status: 'detected', port: 5173 } }],
      [runtimeFacts.ready(), { status: 'running', preview: { status: 'ready', port: 5173, ports: [{ port: 5173, http: true }] } }],
      [runtimeFacts.stopping(), { status: 'stopping', devServer: { pid: 7 } }],
      [runtimeFacts.stopped(), { status: 'stopped', devServer: { pid: null }, preview: { status: 'none', ports: [] } }],
    ]
    steps.forEach(([, expected], index) => {
      expect(runtime(steps.slice(0, index + 1).map(([fact]) => fact)).view, `step ${String(index)}`).toMatchObject(expected)
    })
  })

  it('crashes with its last lines, and says when it restarts', () => {
    const { view } = runtime([runtimeFacts.starting(), runtimeFacts.started(), runtimeFacts.ready(), runtimeFacts.crashed(500)])
    expect(view).toMatchObject({ status: 'crashed', devServer: { exitCode: 3, restartAt: 4_500_000, crash: { lastLines: ['oops'] } }, preview: { status: 'none' } })
    expect(runtime([runtimeFacts.starting(), runtimeFacts.started(), runtimeFacts.crashed(null), runtimeFacts.starting()]).view.devServer).toMatchObject({ status: 'starting', crash: null })
  })

  it('knows since when a port responds, even if it was reopened quickly', () => {
    const since = (...facts: readonly Fact[]) => runtime([runtimeFacts.started(), runtimeFacts.detected(), runtimeFacts.ready(), ...facts]).respondingPorts.get(5173)
    expect(since()).toBe(3)
    expect(since(runtimeFacts.ready())).toBe(3)
    expect(since(runtimeFacts.detected())).toBeUndefined()
    expect(since(runtimeFacts.detected(), runtimeFacts.ready())).toBe(5)
    expect(since(runtimeFacts.stopped(), runtimeFacts.started(), runtimeFacts.ready())).toBe(6)
  })

  it('loses everything with its kernel, unless the kernel stopped cleanly', () => {
    const alive = [runtimeFacts.kernel('KERNEL_STARTED'), runtimeFacts.starting(), runtimeFacts.started(), runtimeFacts.opened(), runtimeFacts.buildStarted()]
    expect(runtime([...alive, runtimeFacts.kernel('KERNEL_LOST')])).toMatchObject({
      kernel: { kind: 'lost' },
      view: { status: 'crashed', devServer: { pid: null }, build: { status: 'failed' }, terminal: { status: 'exited', pid: null } },
    })
    expect(runtime([...alive, runtimeFacts.kernel('KERNEL_STOPPED')])).toMatchObject({
      kernel: { kind: 'stopped' },
      view: { status: 'stopped', devServer: { crash: null }, build: { status: 'stopped' } },
    })
    expect(runtime([...alive, runtimeFacts.kernel('KERNEL_UNRESPONSIVE')])).toMatchObject({ kernel: { kind: 'unresponsive', pid: 3 }, view: { status: 'running' } })
  })

  it('has a terminal, live or exited, as long as its kernel lives', () => {
    const start = runtimeFacts.kernel('KERNEL_STARTED')
    for (const [facts, shell] of [
      [[start], false],
      [[start, runtimeFacts.opened()], true],
      [[start, runtimeFacts.opened(), runtimeFacts.closed()], true],
      [[start, runtimeFacts.opened(), runtimeFacts.kernel('KERNEL_UNRESPONSIVE')], true],
      [[start, runtimeFacts.opened(), runtimeFacts.kernel('KERNEL_STOPPED')], false],
      [[start, runtimeFacts.opened(), runtimeFacts.closed(), runtimeFacts.kernel('KERNEL_LOST'), start], false],
    ] as const) expect(runtime(facts).hasTerminal, facts.map(({ kind }) => kind).join()).toBe(shell)
  })

  it('is fetched when an event is truncated, and not overwritten by an older response', () => {
    const events = [sampleEvent(1, runtimeFacts.starting(), inProject), sampleEvent(2, truncated(runtimeFacts.crashed(null)), inProject)]
    const { runtimes } = foldEvents(EMPTY_PROJECTION, events)
    expect(runtimes.get('p1')).toMatchObject({ truncated: true, view: { status: 'starting' } })
    const response = { ...runtime([runtimeFacts.starting(), runtimeFacts.crashed(null)]).view, seq: 2 } as unknown as RuntimeStatusResponse
    expect(withRuntime(runtimes, { ...response, seq: 1 })).toBe(runtimes)
    const whole = withRuntime(runtimes, { ...response, seq: 5 })
    expect(whole.get('p1')).toMatchObject({ truncated: false, seq: 5, view: { status: 'crashed' } })
    // Events that the response already includes change nothing; later ones do.
    const late = foldEvents({ ...EMPTY_PROJECTION, runtimes: whole }, [sampleEvent(4, runtimeFacts.stopped(), inProject)])
    expect(late.runtimes).toBe(whole)
    expect(foldEvents({ ...EMPTY_PROJECTION, runtimes: whole }, [sampleEvent(6, runtimeFacts.stopped(), inProject)]).runtimes.get('p1')).toMatchObject({ view: { status: 'stopped' } })
  })

  it('is the same for any split of the log', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const log: readonly Event[] = randomRuntimeLog(40, seed)
      const whole = foldEvents(EMPTY_PROJECTION, log).runtimes
      for (let cut = 0; cut <= log.length; cut++) {
        expect(foldEvents(foldEvents(EMPTY_PROJECTION, log.slice(0, cut)), log.slice(cut)).runtimes, `seed ${String(seed)}, cut at ${String(cut)}`).toEqual(whole)
      }
    }
  })
})

describe('what an agent typed', () => {
  const asked: Fact = {
    kind: 'ACTION_REQUESTED',
    body: { action: 'a1', project: 'p1', name: 'pty.write', params: { text: 'ls\n' }, what: 'type', actionHash: 'h', role: 'backend' },
  }
  const ended = (fault: object | null) => ({ kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: null, outcome: { exitCode: null, signal: null, durationMs: 1, fault, summary: {} } } }) as Fact
  const by = (actor: Event['actor']) => ({ ...inProject, actor })

  it('is known once it was typed, and only for agents', () => {
    const typed = (facts: readonly Fact[], actor: Event['actor'] = 'agent:t1') => foldEvents(EMPTY_PROJECTION, facts.map((fact, index) => sampleEvent(index + 1, fact, by(actor)))).agentInput.typed.get('p1')
    expect(typed([asked])).toBeUndefined()
    expect(typed([asked, ended(null)])).toMatchObject([{ text: 'ls\n', role: 'backend', actor: 'agent:t1', at: 1_000_000 }])
    expect(typed([asked, ended({ code: 'PTY_DEAD', message: 'no' })])).toBeUndefined()
    expect(typed([asked, { kind: 'ACTION_DENIED', body: { action: 'a1', fault: { code: 'POLICY_DENIED', message: 'no', details: null } } } as Fact, ended(null)])).toBeUndefined()
    expect(typed([asked, ended(null)], 'ui')).toBeUndefined()
  })
})
