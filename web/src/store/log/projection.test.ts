/** The folds: what the screen shows depends on the log and on nothing else. */
import { describe, expect, it } from 'vitest'
import { fold, NOTHING } from './projection.ts'
import { closedProjects, openProjects, projectBySlug } from '../projects/projects.ts'
import { closed, opened, randomLog, sample, UNKNOWN } from '../testing/sample-events.ts'

describe('the fold', () => {
  it('of any prefix and then the rest is the fold of the whole', () => {
    for (let seed = 1; seed <= 25; seed++) {
      const log = randomLog(40, seed)
      const whole = fold(NOTHING, log)
      for (let cut = 0; cut <= log.length; cut++) {
        const resumed = fold(fold(NOTHING, log.slice(0, cut)), log.slice(cut))
        expect(resumed, `seed ${String(seed)}, cut at ${String(cut)}`).toEqual(whole)
      }
    }
  })

  it('gives back the same value when nothing changed', () => {
    const before = fold(NOTHING, [sample(1, opened('p1'))])
    expect(fold(before, [sample(2, UNKNOWN), sample(3, closed('never-opened'))])).toBe(before)
  })

  it('knows which projects are open, closed, and opened again', () => {
    const one = fold(NOTHING, [sample(1, opened('p1', 'Zeta')), sample(2, opened('p2', 'Alpha'))])
    expect(openProjects(one.projects).map(({ name }) => name)).toEqual(['Alpha', 'Zeta'])
    const two = fold(one, [sample(3, closed('p1'))])
    expect(openProjects(two.projects).map(({ name }) => name)).toEqual(['Alpha'])
    expect(closedProjects(two.projects).map(({ name }) => name)).toEqual(['Zeta'])
    expect(projectBySlug(two.projects, 'zeta')?.status).toBe('closed')
    const three = fold(two, [sample(4, opened('p3', 'Zeta'))])
    expect(closedProjects(three.projects)).toEqual([])
  })

  it('takes the time and the name from the envelope', () => {
    const { projects } = fold(NOTHING, [sample(7, opened('p1'))])
    expect(projects.get('p1')).toMatchObject({ openedAt: 7_000_000, openedBy: 'local:ada' })
  })

  it('follows the daemon', () => {
    const started = sample(1, { kind: 'DAEMON_STARTED', body: { pid: 7, version: '0.1.0', listen: 'x' } })
    const stopped = sample(2, { kind: 'DAEMON_STOPPED', body: { reason: 'asked' } })
    expect(fold(NOTHING, [started]).daemon).toMatchObject({ kind: 'started', pid: 7 })
    expect(fold(NOTHING, [started, stopped]).daemon).toMatchObject({ kind: 'stopped', reason: 'asked' })
  })
})
