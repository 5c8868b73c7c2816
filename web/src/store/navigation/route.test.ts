/** Addresses: what is written is what is read. */
import { describe, expect, it } from 'vitest'
import { formatRoute, HOME, parseRoute, type Route } from './route.ts'
import { NO_FILTER } from '../timeline/filter.ts'

describe('an address', () => {
  it.each<[string, Route]>([
    ['#/', HOME],
    ['#/timeline', { ...HOME, place: { kind: 'all' } }],
    ['#/projects/atlas/timeline', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'timeline' } }],
    ['#/projects/a%2Fb/timeline?event=42', { ...HOME, place: { kind: 'project', slug: 'a/b', page: 'timeline' }, filter: NO_FILTER, event: 42 }],
    ['#/projects/atlas/roles', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'roles' } }],
    ['#/projects/atlas/policy', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'policy' } }],
    ['#/projects/atlas/grants', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'grants' } }],
    ['#/actions/0197-a', { ...HOME, place: { kind: 'action', id: '0197-a' } }],
    ['#/timeline?approval=0197-b', { ...HOME, place: { kind: 'all' }, approval: '0197-b' }],
    ['#/timeline?kind=A&kind=B&actor=agent%3Ax&q=two+words', { ...HOME, place: { kind: 'all' }, filter: { kinds: ['A', 'B'], actors: ['agent:x'], text: 'two words' } }],
    ['#/projects/atlas/terminal', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'terminal' } }],
    ['#/projects/atlas/run?beside=preview', { ...HOME, place: { kind: 'project', slug: 'atlas', page: 'run' }, beside: 'preview' }],
  ])('%s is read and written', (hash, route) => {
    expect(parseRoute(hash)).toEqual(route)
    expect(formatRoute(route)).toBe(hash)
  })

  it.each(['', '#', '#/nowhere', '#/projects/', '#/projects/%E0%A4%A/timeline', '#/timeline/x', '#/projects/atlas/nonsense', '#/actions/', '#/actions/%E0%A4%A'])('%s is home', (hash) => {
    expect(parseRoute(hash).place).toEqual({ kind: 'home' })
  })

  it.each(['roles', 'x', ''])('nothing called %s stands beside another page', (name) => {
    expect(parseRoute(`#/projects/atlas/run?beside=${name}`).beside).toBeNull()
  })

  it.each(['x', '-1', '0', '1.5', '1e99'])('an event called %s is none', (event) => {
    expect(parseRoute(`#/timeline?event=${event}`).event).toBeNull()
  })
})
