/** The story of an action, in words. */
import { describe, expect, it } from 'vitest'
import type { Event, Fact } from '../../proto/index.ts'
import { actionOf, because, stepsOf } from './story.ts'

function event(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
  return { seq, at: seq, stream: 'project/p1', actor: 'agent:claude', principal: 'token:t1', ...fact, ...more } as Event
}

const output = (seq: number, stream: 'stdout' | 'stderr', text: string): Event =>
  event(seq, { kind: 'ACTION_OUTPUT', body: { action: 'a1', project: 'p1', report: seq, output: { stream, offset: 0, dropped: 0, data: { text } } } })

describe('the story', () => {
  it('says who asked, who decided, what was printed and how it ended', () => {
    const outcome = { exitCode: 0, signal: null, durationMs: 12, fault: null, summary: { changed: ['a.txt'] } }
    const steps = stepsOf([
      event(1, { kind: 'ACTION_REQUESTED', body: { action: 'a1', project: 'p1', name: 'x', params: {}, what: 'run `make`', actionHash: 'h', role: 'backend' } }),
      event(2, { kind: 'APPROVAL_ANSWERED', body: { approval: 'q1', project: 'p1', actionHash: 'h', decision: 'allow', scope: 'once', message: null } }, { actor: 'ui', principal: 'local:ada' }),
      event(3, { kind: 'ACTION_ALLOWED', body: { action: 'a1', by: 'approval', why: { kind: 'approval', approval: 'q1' }, profile: 'build' } }),
      output(4, 'stdout', 'one\ntwo\n'),
      output(5, 'stderr', 'careful\n'),
      event(6, { kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: 6, outcome } }),
    ])
    expect(steps.map(({ said }) => said)).toEqual([
      'agent:claude (token:t1) asked to run `make` in the role backend',
      'ui (local:ada) allowed it: once',
      'It may run: a person said yes, under the profile build',
      'It printed',
      'Ended with 0 after 12 ms',
    ])
    expect(steps[3]?.lines).toEqual(['one', 'two', '! careful'])
    expect(steps[4]).toMatchObject({ tone: 'good', lines: ['changed: ["a.txt"]'] })
  })

  it('says what changed while a command ran, whoever changed it', () => {
    const finished = (summary: unknown): readonly string[] => {
      const outcome = { exitCode: 0, signal: null, durationMs: 12, fault: null, summary }
      return stepsOf([event(1, { kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: 6, outcome } })])[0]?.lines ?? []
    }
    expect(finished({ stdoutBytes: 0, meanwhile: { changed: ['README.md', 'gen/'], folders: ['.', 'src'], more: true } })).toEqual([
      'stdoutBytes: 0',
      'changed while it ran: README.md',
      'changed while it ran: gen/',
      'changed while it ran: names in the project’s folder were added or removed',
      'changed while it ran: names in src were added or removed',
      'changed while it ran: maybe more; not all was looked at or is named',
    ])
    expect(finished({ stdoutBytes: 0 })).toEqual(['stdoutBytes: 0'])
    expect(finished(null)).toEqual([])
  })

  it('says which parts of the wall stood', () => {
    const layers = { seccomp: true, userNamespace: false, landlockAbi: 7, cgroup: true, nothing: null }
    const [step] = stepsOf([event(1, { kind: 'ACTION_STARTED', body: { action: 'a1', project: 'p1', report: 1, pid: 7, profile: 'build', layers } })])
    expect(step?.lines).toEqual(['behind: seccomp, cgroup', 'without: userNamespace', 'landlockAbi: 7'])
  })

  it('gives the words of a denial', () => {
    const [step] = stepsOf([event(1, { kind: 'APPROVAL_ANSWERED', body: { approval: 'q1', project: 'p1', actionHash: 'h', decision: 'deny', scope: null, message: 'use pnpm' } })])
    expect(step).toMatchObject({ tone: 'bad', lines: ['use pnpm'] })
  })

  it('names a body that is kept beside the log', () => {
    const [step] = stepsOf([event(1, { kind: 'APPROVAL_ASKED', body: { $blob: 'x', size: 1 } } as unknown as Fact)])
    expect(step?.said).toContain('kept beside the log')
  })

  it('says what allowed an action', () => {
    expect(because({ kind: 'rules', rules: [{ layer: 'user', id: 'git-read', effect: 'allow', reason: 'harmless' }] })).toBe('by the user rule git-read, which says allow (harmless)')
    expect(because({ kind: 'mode', mode: 'full' })).toBe('the mode is full')
  })
})

it('belongs to the action that an event names, or that its question is about', () => {
  const answered = event(2, { kind: 'APPROVAL_EXPIRED', body: { approval: 'q1', project: 'p1' } })
  expect(actionOf(output(1, 'stdout', ''), new Map())).toBe('a1')
  expect(actionOf(answered, new Map())).toBeNull()
  expect(actionOf(answered, new Map([['q1', { action: 'a9' } as never]]))).toBe('a9')
})
