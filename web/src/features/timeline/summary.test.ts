/** The line of an event: known kinds in words, unknown ones as they are. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { projectOf, shorten, summary } from './summary.ts'

const event = (part: object): Event => ({ seq: 1, stream: 'sys', ...part }) as unknown as Event
const nameOf = (id: string): string | undefined => (id === 'p1' ? 'Atlas' : undefined)

describe('the line of an event', () => {
  it('says what happened', () => {
    const opened = event({ kind: 'PROJECT_OPENED', body: { project: 'p1', name: 'Atlas', slug: 'atlas', path: '/a' } })
    expect(summary(opened, nameOf)).toBe('Atlas opened at /a')
    expect(summary(event({ kind: 'PROJECT_CLOSED', body: { project: 'p1' } }), nameOf)).toBe('Atlas closed')
  })

  it('tells the story of an action', () => {
    const line = (kind: string, body: object): string => summary(event({ kind, body }), nameOf)
    const outcome = { exitCode: 0, signal: null, durationMs: 7, fault: null, summary: null }
    const fault = { code: 'TIMEOUT', message: 'it took too long' }
    expect(line('ACTION_REQUESTED', { what: 'run `ls`' })).toBe('Asked to run `ls`')
    expect(line('ACTION_OUTPUT', { output: { stream: 'stdout', offset: 0, dropped: 0, data: { text: 'a\n' } } })).toBe('stdout: a')
    expect(line('ACTION_OUTPUT', { output: { stream: 'stdout', offset: 0, dropped: 0, data: { blob: { $blob: 'a0', size: 32768 } } } })).toBe(
      'stdout: 32768 bytes, kept beside the log',
    )
    expect(line('ACTION_OUTPUT', { output: { stream: 'stderr', offset: 9, dropped: 5, data: { hex: 'ff00' } } })).toBe(
      'stderr: (5 bytes dropped) 2 bytes that are no text',
    )
    expect(line('ACTION_FINISHED', { outcome })).toBe('Ended with 0 after 7 ms')
    expect(line('ACTION_FINISHED', { outcome: { ...outcome, exitCode: null, signal: 9 } })).toBe('Ended by signal 9 after 7 ms')
    expect(line('ACTION_FINISHED', { outcome: { ...outcome, fault } })).toBe('Failed after 7 ms: it took too long (TIMEOUT)')
  })

  it('tells what a project runs', () => {
    const line = (kind: string, body: object): string => summary(event({ kind, body }), nameOf)
    const error = { file: 'a.ts', line: 1, column: 2, message: 'no', severity: 'error' }
    const build = { end: 'failed', errors: [error], omitted: 0, why: null }
    expect(line('BUILD_FAILED', { build })).toBe('Build failed with 1 error')
    expect(line('BUILD_FAILED', { build: { ...build, end: 'stopped' } })).toBe('Build stopped')
    expect(line('RUNTIME_STARTED', { run: { command: 'npm run dev', pid: 3 } })).toBe('Runs npm run dev, process 3')
    expect(line('RUNTIME_CRASHED', { run: { crash: { exitCode: null, signal: 9 } } })).toBe('Dev server crashed by signal 9')
    expect(line('RUNTIME_STOPPED', { run: { exitCode: 0, signal: null } })).toBe('Dev server stopped with exit code 0')
  })

  it('shows the body of a kind it does not know', () => {
    expect(summary(event({ kind: 'NEW', body: { a: [1] } }), nameOf)).toBe('{"a":[1]}')
  })

  it('cuts nothing without saying so', () => {
    expect(shorten('x'.repeat(300))).toHaveLength(300)
    expect(shorten('x'.repeat(310))).toMatch(/… \(10 more characters\)$/)
  })

  it('names the project of a stream, by its id when the name is not known', () => {
    expect(projectOf(event({ stream: 'project/p1' }), nameOf)).toBe('Atlas')
    expect(projectOf(event({ stream: 'project/p9' }), nameOf)).toBe('p9')
    expect(projectOf(event({}), nameOf)).toBeNull()
  })
})
