/** The window of the timeline: it moves over a log of any length and stays bounded. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { opened, sampleCursor, sampleEvent } from '../testing/samples.ts'
import { EventWindow } from './event-window.ts'

const events = (from: number, to: number): readonly Event[] => Array.from({ length: to - from + 1 }, (_, index) => sampleEvent(from + index, opened('p1')))

function seqs(window: EventWindow): readonly unknown[] {
  const rows = window.rows()
  return Array.from({ length: rows.length }, (_, index) => rows.at(index)?.seq)
}

describe('the window of events', () => {
  it('drops at the end what does not fit, and remembers where to go on', () => {
    const window = new EventWindow(4)
    window.replace(events(7, 9), { earlier: sampleCursor(7), later: null })
    window.prepend(events(4, 6), sampleCursor(4))
    expect(seqs(window)).toEqual([4, 5, 6, 7])
    expect(window.rows()).toMatchObject({ offset: -3, hasEarlier: true, hasLater: true })
    expect(window.edges).toEqual({ earlier: 4, later: 7 })
    window.append(events(8, 9), null)
    expect(seqs(window)).toEqual([6, 7, 8, 9])
    expect(window.rows()).toMatchObject({ offset: -1, hasEarlier: true, hasLater: false })
    expect(window.edges).toEqual({ earlier: 6, later: null })
  })

  it('takes no event twice', () => {
    const window = new EventWindow(10)
    window.replace(events(3, 4), { earlier: sampleCursor(3), later: null })
    window.append(events(2, 5), null)
    window.prepend(events(2, 4), null)
    expect(seqs(window)).toEqual([2, 3, 4, 5])
  })

  it('holds a bounded number of a million events, however it is scrolled', () => {
    const window = new EventWindow()
    let position = 1_000_000
    window.replace(events(position - 199, position), { earlier: sampleCursor(position - 199), later: null })
    for (let page = 0; page < 100; page++) {
      position = Number(window.edges.earlier)
      window.prepend(events(position - 200, position - 1), sampleCursor(position - 200))
      expect(window.rows().length).toBeLessThanOrEqual(2_000)
    }
    expect(window.rows().at(0)?.seq).toBe(1_000_000 - 199 - 100 * 200)
    expect(window.find(String(position - 1))?.seq).toBe(position - 1)
    expect(window.find('1000000')).toBeUndefined()
  })

  it('knows whether new events would push out what is being read', () => {
    const window = new EventWindow(10)
    window.replace(events(1, 8), { earlier: null, later: null })
    expect(window.wouldDrop(2, 0)).toBe(false)
    expect(window.wouldDrop(3, 0)).toBe(true)
    expect(window.wouldDrop(3, 5)).toBe(false)
    window.detach()
    expect(window.edges.later).toBe(8)
  })
})
