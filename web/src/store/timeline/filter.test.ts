/** The query for the events of the timeline. */
import { expect, it } from 'vitest'
import { eventQuery, isEmptyFilter, NO_FILTER, requestedNumber } from './filter.ts'

it('has a parameter for each part of the filter', () => {
  expect(eventQuery({ kind: 'all' }, NO_FILTER).toString()).toBe('bodies=short')
  const filter = { kinds: ['A', 'B'], actors: ['cli'], text: ' two words ' }
  expect(eventQuery({ kind: 'project', id: 'p1' }, filter).toString()).toBe('kind=A%2CB&actor=cli&text=two+words&project=p1&bodies=short')
  expect([isEmptyFilter(filter), isEmptyFilter({ ...NO_FILTER, text: ' ' })]).toEqual([false, true])
})

it('selects one event by its number', () => {
  const filter = { ...NO_FILTER, text: '#12' }
  expect(requestedNumber(filter)).toBe('12')
  expect(requestedNumber({ ...NO_FILTER, text: ' #0012 ' })).toBe('12')
  expect(eventQuery({ kind: 'all' }, filter).toString()).toBe('bodies=short')
  expect(requestedNumber({ ...NO_FILTER, text: '#x' })).toBeNull()
})
