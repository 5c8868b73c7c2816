/** Event summaries. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { projectLabel, shorten, summarizeEvent } from './event-summary.ts'

const event = (part: object): Event => ({ seq: 1, stream: 'sys', ...part }) as unknown as Event
const projectName = (id: string): string | undefined => (id === 'p1' ? 'Atlas' : undefined)

describe('the summary of an event', () => {
  it('says what happened', () => {
    const opened = event({ kind: 'PROJECT_OPENED', body: { project: 'p1', name: 'Atlas', slug: 'atlas', path: '/a' } })
    expect(summarizeEvent(opened, projectName)).toBe('Atlas opened at /a')
    expect(summarizeEvent(event({ kind: 'PROJECT_CLOSED', body: { project: 'p1' } }), projectName)).toBe('Atlas closed')
  })

  it('describes an action', () => {
    const line = (kind: string, body: object): string => summarizeEvent(event({ kind, body }), projectName)
    const outcome = { exitCode: 0, signal: null, durationMs: 7, fault: null, summary: null }
    const fault = { code: 'TIMEOUT', message: 'it took too long' }
    expect(line('ACTION_REQUESTED', { what: 'run `ls`' })).toBe('Requested to run `ls`')
    expect(line('ACTION_OUTPUT', { output: { stream: 'stdout', offset: 0, dropped: 0, data: { text: 'a\n' } } })).toBe('stdout: a')
    expect(line('ACTION_OUTPUT', { output: { stream: 'stdout', offset: 0, dropped: 0, data: { omitted: 32768 } } })).toBe(
      'stdout: 32768 bytes: open the event to read them',
    )
    expect(line('ACTION_OUTPUT', { output: { stream: 'stderr', offset: 9, dropped: 5, data: { hex: 'ff00' } } })).toBe(
      'stderr: (5 bytes dropped) 2 bytes of binary data',
    )
    expect(line('ACTION_READ', { what: 'read a', outcome: { ...outcome, exitCode: null } })).toBe('Executed: read a')
    expect(line('ACTION_READ', { what: 'read a', outcome: { ...outcome, exitCode: null, fault } })).toBe('Failed to read a: it took too long (TIMEOUT)')
    expect(line('ACTION_FINISHED', { outcome })).toBe('Exited with code 0 after 7 ms')
    expect(line('ACTION_FINISHED', { outcome: { ...outcome, exitCode: null, signal: 9 } })).toBe('Terminated by signal 9 after 7 ms')
    expect(line('ACTION_FINISHED', { outcome: { ...outcome, fault } })).toBe('Failed after 7 ms: it took too long (TIMEOUT)')
  })

  it('describes a notebook', () => {
    const line = (kind: string, body: object): string => summarizeEvent(event({ kind, body }), projectName)
    expect(line('CELL_CREATED', { cellKind: 'code', source: 'print(1)' })).toBe('Cell created (code): print(1)')
    expect(line('EXECUTION_FINISHED', { outcome: 'lost', why: 'another runtime took over' })).toBe(
      'Execution ended: lost: another runtime took over',
    )
    expect(line('OUTPUT_ADDED', { content: { type: 'stream', name: 'stdout', text: 'a\n' } })).toBe('stdout: a')
    expect(line('RUNTIME_SESSION_ENDED', { reason: 'displaced', why: null })).toBe('Runtime ended: displaced')
    expect(line('EXECUTION_INPUT_ANSWERED', { text: null })).toBe('Secret input given')
  })

  it('describes the runtime of a project', () => {
    const line = (kind: string, body: object): string => summarizeEvent(event({ kind, body }), projectName)
    const error = { file: 'a.ts', line: 1, column: 2, message: 'no', severity: 'error' }
    const build = { end: 'failed', errors: [error], omitted: 0, why: null }
    expect(line('BUILD_FAILED', { build })).toBe('Build failed with 1 error')
    expect(line('BUILD_FAILED', { build: { ...build, end: 'stopped' } })).toBe('Build stopped')
    expect(line('RUNTIME_STARTED', { run: { command: 'npm run dev', pid: 3 } })).toBe('Dev server started: npm run dev, process 3')
    expect(line('RUNTIME_CRASHED', { run: { crash: { exitCode: null, signal: 9 } } })).toBe('Dev server crashed by signal 9')
    expect(line('RUNTIME_STOPPED', { run: { exitCode: 0, signal: null } })).toBe('Dev server stopped with exit code 0')
  })

  it('shows the body of an unknown kind', () => {
    expect(summarizeEvent(event({ kind: 'NEW', body: { a: [1] } }), projectName)).toBe('{"a":[1]}')
  })

  it('says how much it shortened', () => {
    expect(shorten('x'.repeat(300))).toHaveLength(300)
    expect(shorten('x'.repeat(310))).toMatch(/… \(10 more characters\)$/)
  })

  it('has the project of the stream, by id if the name is unknown', () => {
    expect(projectLabel(event({ stream: 'project/p1' }), projectName)).toBe('Atlas')
    expect(projectLabel(event({ stream: 'project/p9' }), projectName)).toBe('p9')
    expect(projectLabel(event({}), projectName)).toBeNull()
  })
})
