/** The projection: it depends on the log and on nothing else. */
import { describe, expect, it } from 'vitest'
import { foldEvents, EMPTY_PROJECTION } from './projection.ts'
import { closedProjects, openProjects, projectBySlug } from '../projects/projects.ts'
import { closed, opened, randomLog, sampleEvent, UNKNOWN } from '../testing/sample-events.ts'

describe('the fold', () => {
  it('gives the same result for any split of the log', () => {
    for (let seed = 1; seed <= 25; seed++) {
      const log = randomLog(40, seed)
      const whole = foldEvents(EMPTY_PROJECTION, log)
      for (let cut = 0; cut <= log.length; cut++) {
        const resumed = foldEvents(foldEvents(EMPTY_PROJECTION, log.slice(0, cut)), log.slice(cut))
        expect(resumed, `seed ${String(seed)}, cut at ${String(cut)}`).toEqual(whole)
      }
    }
  })

  it('returns the same value when nothing changed', () => {
    const before = foldEvents(EMPTY_PROJECTION, [sampleEvent(1, opened('p1'))])
    expect(foldEvents(before, [sampleEvent(2, UNKNOWN), sampleEvent(3, closed('never-opened'))])).toBe(before)
  })

  it('knows which projects are open, closed, and opened again', () => {
    const one = foldEvents(EMPTY_PROJECTION, [sampleEvent(1, opened('p1', 'Zeta')), sampleEvent(2, opened('p2', 'Alpha'))])
    expect(openProjects(one.projects).map(({ name }) => name)).toEqual(['Alpha', 'Zeta'])
    const two = foldEvents(one, [sampleEvent(3, closed('p1'))])
    expect(openProjects(two.projects).map(({ name }) => name)).toEqual(['Alpha'])
    expect(closedProjects(two.projects).map(({ name }) => name)).toEqual(['Zeta'])
    expect(projectBySlug(two.projects, 'zeta')?.status).toBe('closed')
    const three = foldEvents(two, [sampleEvent(4, opened('p3', 'Zeta'))])
    expect(closedProjects(three.projects)).toEqual([])
  })

  it('takes the time and the principal from the envelope', () => {
    const { projects } = foldEvents(EMPTY_PROJECTION, [sampleEvent(7, opened('p1'))])
    expect(projects.get('p1')).toMatchObject({ openedAt: 7_000_000, openedBy: 'local:ada' })
  })

  it('follows the daemon', () => {
    const started = sampleEvent(1, { kind: 'DAEMON_STARTED', body: { pid: 7, version: '0.1.0', listen: 'x' } })
    const stopped = sampleEvent(2, { kind: 'DAEMON_STOPPED', body: { reason: 'asked' } })
    expect(foldEvents(EMPTY_PROJECTION, [started]).daemon).toMatchObject({ kind: 'started', pid: 7 })
    expect(foldEvents(EMPTY_PROJECTION, [started, stopped]).daemon).toMatchObject({ kind: 'stopped', reason: 'asked' })
  })
})
