/** Routes: parsing is the inverse of formatting. */
import { describe, expect, it } from 'vitest'
import { formatRoute, HOME, parseRoute, type Route } from './route.ts'
import { NO_FILTER } from '../timeline/filter.ts'

describe('a route', () => {
  it.each<[string, Route]>([
    ['#/', HOME],
    ['#/timeline', { ...HOME, target: { kind: 'all' } }],
    ['#/projects/atlas/timeline', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'timeline' } }],
    ['#/projects/a%2Fb/timeline?event=42', { ...HOME, target: { kind: 'project', slug: 'a/b', page: 'timeline' }, filter: NO_FILTER, event: '42' }],
    ['#/projects/atlas/roles', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'roles' } }],
    ['#/projects/atlas/policy', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'policy' } }],
    ['#/projects/atlas/grants', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'grants' } }],
    ['#/actions/0197-a', { ...HOME, target: { kind: 'action', id: '0197-a' } }],
    ['#/timeline?approval=0197-b', { ...HOME, target: { kind: 'all' }, approval: '0197-b' }],
    ['#/timeline?kind=A&kind=B&actor=agent%3Ax&q=two+words', { ...HOME, target: { kind: 'all' }, filter: { kinds: ['A', 'B'], actors: ['agent:x'], text: 'two words' } }],
    ['#/projects/atlas/terminal', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'terminal' } }],
    ['#/projects/atlas/run?beside=preview', { ...HOME, target: { kind: 'project', slug: 'atlas', page: 'run' }, sidePage: 'preview' }],
  ])('%s is parsed and formatted', (hash, route) => {
    expect(parseRoute(hash)).toEqual(route)
    expect(formatRoute(route)).toBe(hash)
  })

  it.each(['', '#', '#/nowhere', '#/projects/', '#/projects/%E0%A4%A/timeline', '#/timeline/x', '#/projects/atlas/nonsense', '#/actions/', '#/actions/%E0%A4%A'])('%s is the start page', (hash) => {
    expect(parseRoute(hash).target).toEqual({ kind: 'home' })
  })

  it.each(['roles', 'x', ''])('%s is not a side page', (name) => {
    expect(parseRoute(`#/projects/atlas/run?beside=${name}`).sidePage).toBeNull()
  })

  it.each(['x', '-1', '0', '1.5', '1e99'])('%s is not an event', (event) => {
    expect(parseRoute(`#/timeline?event=${event}`).event).toBeNull()
  })
})
