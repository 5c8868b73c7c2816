/** The steps of an action's report. */
import { describe, expect, it } from 'vitest'
import type { Event, Fact } from '../../proto/index.ts'
import { findActionId, describeAllowedBy, reportSteps } from './report-steps.ts'

function event(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
  return { seq, at: seq, stream: 'project/p1', actor: 'agent:claude', principal: 'token:t1', ...fact, ...more } as Event
}

const output = (seq: number, stream: 'stdout' | 'stderr', text: string): Event =>
  event(seq, { kind: 'ACTION_OUTPUT', body: { action: 'a1', project: 'p1', report: seq, output: { stream, offset: 0, dropped: 0, data: { text } } } })

describe('the report', () => {
  it('has the request, the decision, the output and the outcome', () => {
    const outcome = { exitCode: 0, signal: null, durationMs: 12, fault: null, summary: { changed: [{ path: 'a.txt', kind: 'deleted' }, { path: 'c', kind: 'moved', from: 'b' }] } }
    const steps = reportSteps([
      event(1, { kind: 'ACTION_REQUESTED', body: { action: 'a1', project: 'p1', name: 'x', params: {}, what: 'run `make`', actionHash: 'h', role: 'backend' } }),
      event(2, { kind: 'APPROVAL_ANSWERED', body: { approval: 'q1', project: 'p1', actionHash: 'h', decision: 'allow', scope: 'once', message: null } }, { actor: 'ui', principal: 'local:ada' }),
      event(3, { kind: 'ACTION_ALLOWED', body: { action: 'a1', by: 'approval', why: { kind: 'approval', approval: 'q1' }, profile: 'build' } }),
      output(4, 'stdout', 'one\ntwo\n'),
      output(5, 'stderr', 'careful\n'),
      event(6, { kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: 6, outcome } }),
    ])
    expect(steps.map(({ text }) => text)).toEqual([
      'agent:claude (token:t1) requested to run `make` in the role backend',
      'ui (local:ada) allowed it: once',
      'Allowed: approved by a person, sandbox profile build',
      'Output',
      'Exited with code 0 after 12 ms',
    ])
    expect(steps[3]?.lines).toEqual(['one', 'two', '! careful'])
    expect(steps[4]).toMatchObject({ tone: 'good', lines: ['a.txt was deleted', 'c was moved from b'] })
  })

  it('lists what changed while a command ran', () => {
    const finished = (summary: unknown): readonly string[] => {
      const outcome = { exitCode: 0, signal: null, durationMs: 12, fault: null, summary }
      return reportSteps([event(1, { kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: 6, outcome } })])[0]?.lines ?? []
    }
    expect(finished({ stdoutBytes: 0, meanwhile: { changed: ['README.md', 'gen/'], folders: ['.', 'src'], more: true } })).toEqual([
      'stdoutBytes: 0',
      'changed while it ran: README.md',
      'changed while it ran: gen/',
      'changed while it ran: entries of the project folder were added or removed',
      'changed while it ran: entries of src were added or removed',
      'changed while it ran: possibly more; the list is incomplete',
    ])
    expect(finished({ stdoutBytes: 0 })).toEqual(['stdoutBytes: 0'])
    const setAside = { entries: [{ path: '.envrc', why: 'shells run it', left: 'nothing', kept: 'quarantine/1' }] }
    expect(finished({ stdoutBytes: 0, setAside })).toEqual(['stdoutBytes: 0', expect.stringContaining('Set aside: .envrc, because shells run it'), expect.stringContaining('ask to put it back')])
    expect(finished(null)).toEqual([])
  })

  it('shows a read that failed as failed', () => {
    const read = (fault: { code: 'NOT_FOUND'; message: string } | null): Event => {
      const outcome = { exitCode: null, signal: null, durationMs: 1, fault, summary: null }
      return event(1, { kind: 'ACTION_READ', body: { action: 'a1', project: 'p1', name: 'fs.readFile', params: {}, what: 'read a', actionHash: 'h', why: { kind: 'operator' }, outcome } } as unknown as Fact)
    }
    expect(reportSteps([read(null)])[0]).toMatchObject({ tone: 'plain', text: expect.stringContaining('Done') as string })
    expect(reportSteps([read({ code: 'NOT_FOUND', message: 'it is not there' })])[0]).toMatchObject({ tone: 'bad', text: expect.stringContaining('Failed after 1 ms: it is not there') as string })
  })

  it('lists the sandbox layers', () => {
    const layers = { seccomp: true, userNamespace: false, landlockAbi: 7, cgroup: true, nothing: null }
    const [step] = reportSteps([event(1, { kind: 'ACTION_STARTED', body: { action: 'a1', project: 'p1', report: 1, pid: 7, profile: 'build', layers } })])
    expect(step?.lines).toEqual(['sandbox layers: seccomp, cgroup', 'missing layers: userNamespace', 'landlockAbi: 7'])
  })

  it('has the message of a denial', () => {
    const [step] = reportSteps([event(1, { kind: 'APPROVAL_ANSWERED', body: { approval: 'q1', project: 'p1', actionHash: 'h', decision: 'deny', scope: null, message: 'use pnpm' } })])
    expect(step).toMatchObject({ tone: 'bad', lines: ['use pnpm'] })
  })

  it('mentions a body that was not sent', () => {
    const [step] = reportSteps([event(1, { kind: 'APPROVAL_ASKED', body: { omitted: 1 } } as unknown as Fact)])
    expect(step?.text).toContain('large body')
  })

  it('says what allowed an action', () => {
    expect(describeAllowedBy({ kind: 'rules', rules: [{ layer: 'user', id: 'git-read', effect: 'allow', reason: 'harmless' }] })).toBe('by user rule git-read: allow (harmless)')
    expect(describeAllowedBy({ kind: 'mode', mode: 'full' })).toBe('by mode full')
  })
})

it('finds the action of an event, also through its approval', () => {
  const answered = event(2, { kind: 'APPROVAL_EXPIRED', body: { approval: 'q1', project: 'p1' } })
  expect(findActionId(output(1, 'stdout', ''), new Map())).toBe('a1')
  expect(findActionId(answered, new Map())).toBeNull()
  expect(findActionId(answered, new Map([['q1', { action: 'a9' } as never]]))).toBe('a9')
})
