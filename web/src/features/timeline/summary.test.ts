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
