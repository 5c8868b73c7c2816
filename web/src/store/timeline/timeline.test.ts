/** The timeline: the order of appending, selecting and evicting does not matter. */
import { describe, expect, it } from 'vitest'
import { NO_FILTER, type EventFilter, type EventScope } from './filter.ts'
import { closed, opened, randomLog, sampleEvent, UNKNOWN } from '../testing/sample-events.ts'
import { Timeline, type TimelineRows } from './timeline.ts'

const ALL: EventScope = { kind: 'all' }
const seqs = (rows: TimelineRows): readonly (number | undefined)[] =>
  Array.from({ length: rows.length }, (_, index) => rows.at(index)?.seq)

function shown(scope: EventScope, filter: Partial<EventFilter>): readonly (number | undefined)[] {
  const timeline = new Timeline()
  timeline.append([
    sampleEvent(1, opened('p1', 'Lighthouse')),
    sampleEvent(2, UNKNOWN, { stream: 'project/p1', actor: 'agent:coder' }),
    sampleEvent(3, opened('p2'), { actor: 'ui' }),
    sampleEvent(4, UNKNOWN, { stream: 'project/p2', actor: 'ui' }),
    sampleEvent(5, closed('p1')),
  ])
  timeline.select(scope, { ...NO_FILTER, ...filter })
  return seqs(timeline.rows())
}

describe('the timeline', () => {
  it('keeps events of unknown kinds', () => {
    expect(shown(ALL, {})).toEqual([1, 2, 3, 4, 5])
  })

  it('shows the stream of a project and the system events about it', () => {
    expect(shown({ kind: 'project', id: 'p1' }, {})).toEqual([1, 2, 5])
    expect(shown({ kind: 'none' }, {})).toEqual([])
  })

  it.each<[string, Partial<EventFilter>, readonly number[]]>([
    ['kind', { kinds: ['PROJECT_OPENED', 'PROJECT_CLOSED'] }, [1, 3, 5]],
    ['actor', { actors: ['ui'] }, [3, 4]],
    ['text in any case', { text: 'LIGHT' }, [1]],
    ['text deep in the body', { text: 'beta' }, [2, 4]],
    ['every word', { text: 'beta coder' }, [2]],
    ['seq', { text: '#3' }, [3]],
    ['text that looks like an expression', { text: '.*' }, []],
    ['all at once', { kinds: ['SOMETHING_NEW'], actors: ['ui'], text: 'alpha' }, [4]],
  ])('filters by %s', (_, filter, expected) => {
    expect(shown(ALL, filter)).toEqual(expected)
  })

  it('shows the same whether events came before or after the selection, in one batch or many', () => {
    const scope: EventScope = { kind: 'project', id: 'p1' }
    const filter: EventFilter = { ...NO_FILTER, actors: ['ui'] }
    for (let seed = 1; seed <= 20; seed++) {
      const log = randomLog(60, seed)
      const whole = new Timeline(25)
      whole.append(log)
      whole.select(scope, filter)
      for (let cut = 0; cut <= log.length; cut += 7) {
        const grown = new Timeline(25)
        grown.select(scope, filter)
        grown.append(log.slice(0, cut))
        grown.append(log.slice(cut))
        const { at: _at, dropped: _dropped, ...rows } = grown.rows()
        expect(whole.rows()).toMatchObject(rows)
        expect(seqs(grown.rows())).toEqual(seqs(whole.rows()))
      }
    }
  })

  it('evicts the oldest events and counts them', () => {
    const timeline = new Timeline(10)
    const log = randomLog(25, 3)
    for (const event of log) timeline.append([event])
    const rows = timeline.rows()
    expect(seqs(rows)).toEqual(log.slice(-10).map(({ seq }) => seq))
    expect(rows).toMatchObject({ evicted: 15, dropped: 15, scoped: 10 })
    expect([...rows.kinds.values()].reduce((sum, n) => sum + n, 0)).toBe(10)
    expect(timeline.find(15)).toBeUndefined()
    expect(timeline.find(16)?.seq).toBe(16)
  })

  it('counts each kind and actor of the scope, whatever the filter', () => {
    const timeline = new Timeline()
    timeline.append([sampleEvent(1, opened('p1')), sampleEvent(2, opened('p2')), sampleEvent(3, closed('p1'))])
    timeline.select(ALL, { ...NO_FILTER, kinds: ['PROJECT_CLOSED'] })
    expect(Object.fromEntries(timeline.rows().kinds)).toEqual({ PROJECT_OPENED: 2, PROJECT_CLOSED: 1 })
    expect(Object.fromEntries(timeline.rows().actors)).toEqual({ cli: 3 })
  })
})
