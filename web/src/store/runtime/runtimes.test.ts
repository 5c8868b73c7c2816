/** What the projects run: the log and nothing else, and the daemon where the log only names. */
import { describe, expect, it } from 'vitest'
import type { Event, Fact, RuntimeStatusResponse } from '../../proto/index.ts'
import { fold, NOTHING } from '../log/projection.ts'
import { noRuntime, withRuntime } from './runtimes.ts'
import { ran, randomRuns, sample, sealed } from '../testing/sample-events.ts'

const inProject = { stream: 'project/p1' } as const
const runtime = (facts: readonly Fact[]) => fold(NOTHING, facts.map((fact, index) => sample(index + 1, fact, inProject))).runtimes.get('p1') ?? noRuntime('p1')

describe('the runtime of a project', () => {
  it('builds, runs, is seen, and stops', () => {
    const steps: readonly [Fact, object][] = [
      [ran.starting(), { status: 'starting' }],
      [ran.buildStarted(), { status: 'building', build: { status: 'running', pid: 5 } }],
      [ran.buildSucceeded(), { status: 'starting', build: { status: 'succeeded', pid: null, durationMs: 9 } }],
      [ran.started(), { status: 'running', devServer: { pid: 7, command: 'npm run dev', startedAt: 4_000_000 } }],
      [ran.detected(), { preview: { status: 'detected', port: 5173 } }],
      [ran.ready(), { status: 'running', preview: { status: 'ready', port: 5173, ports: [{ port: 5173, http: true }] } }],
      [ran.stopping(), { status: 'stopping', devServer: { pid: 7 } }],
      [ran.stopped(), { status: 'stopped', devServer: { pid: null }, preview: { status: 'none', ports: [] } }],
    ]
    steps.forEach(([, expected], index) => {
      expect(runtime(steps.slice(0, index + 1).map(([fact]) => fact)).view, `step ${String(index)}`).toMatchObject(expected)
    })
  })

  it('crashes with its last lines, and says when it comes back', () => {
    const { view } = runtime([ran.starting(), ran.started(), ran.ready(), ran.crashed(500)])
    expect(view).toMatchObject({ status: 'crashed', devServer: { exitCode: 3, restartAt: 4_500_000, crash: { lastLines: ['oops'] } }, preview: { status: 'none' } })
    expect(runtime([ran.starting(), ran.started(), ran.crashed(null), ran.starting()]).view.devServer).toMatchObject({ status: 'starting', crash: null })
  })

  it('knows since when a port answers, however quickly it was opened anew', () => {
    const since = (...facts: readonly Fact[]) => runtime([ran.started(), ran.detected(), ran.ready(), ...facts]).answers.get(5173)
    expect(since()).toBe(3)
    expect(since(ran.ready())).toBe(3)
    expect(since(ran.detected())).toBeUndefined()
    expect(since(ran.detected(), ran.ready())).toBe(5)
    expect(since(ran.stopped(), ran.started(), ran.ready())).toBe(6)
  })

  it('loses everything with its kernel, unless that stopped in order', () => {
    const alive = [ran.kernel('KERNEL_STARTED'), ran.starting(), ran.started(), ran.opened(), ran.buildStarted()]
    expect(runtime([...alive, ran.kernel('KERNEL_LOST')])).toMatchObject({
      kernel: { kind: 'lost' },
      view: { status: 'crashed', devServer: { pid: null }, build: { status: 'failed' }, terminal: { status: 'exited', pid: null } },
    })
    expect(runtime([...alive, ran.kernel('KERNEL_STOPPED')])).toMatchObject({
      kernel: { kind: 'stopped' },
      view: { status: 'stopped', devServer: { crash: null }, build: { status: 'stopped' } },
    })
    expect(runtime([...alive, ran.kernel('KERNEL_UNRESPONSIVE')])).toMatchObject({ kernel: { kind: 'unresponsive', pid: 3 }, view: { status: 'running' } })
  })

  it('has a terminal to look at, live or ended, as long as the kernel in which it was opened', () => {
    const start = ran.kernel('KERNEL_STARTED')
    for (const [facts, shell] of [
      [[start], false],
      [[start, ran.opened()], true],
      [[start, ran.opened(), ran.closed()], true],
      [[start, ran.opened(), ran.kernel('KERNEL_UNRESPONSIVE')], true],
      [[start, ran.opened(), ran.kernel('KERNEL_STOPPED')], false],
      [[start, ran.opened(), ran.closed(), ran.kernel('KERNEL_LOST'), start], false],
    ] as const) expect(runtime(facts).shell, facts.map(({ kind }) => kind).join()).toBe(shell)
  })

  it('is asked for when a body is kept beside the log, and not overwritten by what is older', () => {
    const events = [sample(1, ran.starting(), inProject), sample(2, sealed(ran.crashed(null)), inProject)]
    const { runtimes } = fold(NOTHING, events)
    expect(runtimes.get('p1')).toMatchObject({ sealed: true, view: { status: 'starting' } })
    const told = { ...runtime([ran.starting(), ran.crashed(null)]).view, seq: 2 } as unknown as RuntimeStatusResponse
    expect(withRuntime(runtimes, { ...told, seq: 1 })).toBe(runtimes)
    const whole = withRuntime(runtimes, { ...told, seq: 5 })
    expect(whole.get('p1')).toMatchObject({ sealed: false, seq: 5, view: { status: 'crashed' } })
    // Events that are in it already change nothing; later ones do.
    const late = fold({ ...NOTHING, runtimes: whole }, [sample(4, ran.stopped(), inProject)])
    expect(late.runtimes).toBe(whole)
    expect(fold({ ...NOTHING, runtimes: whole }, [sample(6, ran.stopped(), inProject)]).runtimes.get('p1')).toMatchObject({ view: { status: 'stopped' } })
  })

  it('of any prefix and then the rest is that of the whole', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const log: readonly Event[] = randomRuns(40, seed)
      const whole = fold(NOTHING, log).runtimes
      for (let cut = 0; cut <= log.length; cut++) {
        expect(fold(fold(NOTHING, log.slice(0, cut)), log.slice(cut)).runtimes, `seed ${String(seed)}, cut at ${String(cut)}`).toEqual(whole)
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

  it('is known once it was typed, and only if an agent did', () => {
    const typed = (facts: readonly Fact[], actor: Event['actor'] = 'agent:t1') => fold(NOTHING, facts.map((fact, index) => sample(index + 1, fact, by(actor)))).typing.done.get('p1')
    expect(typed([asked])).toBeUndefined()
    expect(typed([asked, ended(null)])).toMatchObject([{ text: 'ls\n', role: 'backend', actor: 'agent:t1', at: 1_000_000 }])
    expect(typed([asked, ended({ code: 'PTY_DEAD', message: 'no' })])).toBeUndefined()
    expect(typed([asked, { kind: 'ACTION_DENIED', body: { action: 'a1', fault: { code: 'POLICY_DENIED', message: 'no', details: null } } } as Fact, ended(null)])).toBeUndefined()
    expect(typed([asked, ended(null)], 'ui')).toBeUndefined()
  })
})
