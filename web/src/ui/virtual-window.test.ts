/** The layout of the virtual list. */
import { describe, expect, it } from 'vitest'
import { afterDrop, atEnd, OVERSCAN, reveal, visibleRange } from './virtual-window.ts'

const extent = { scrollTop: 0, viewport: 300, rowHeight: 30, count: 1000 }

describe('the visible range of a list', () => {
  it('covers the viewport and little more', () => {
    for (const count of [0, 1, 5, 10, 11, 1000, 100_000]) {
      for (let scrollTop = -50; scrollTop < 32_000; scrollTop += 37) {
        const { start, end } = visibleRange({ ...extent, scrollTop, count })
        expect(start).toBeGreaterThanOrEqual(0)
        expect(end).toBeLessThanOrEqual(count)
        expect(end - start).toBeLessThanOrEqual(11 + 2 * OVERSCAN)
        const top = Math.min(Math.max(0, scrollTop), Math.max(0, count * 30 - 300))
        if (count > 0) expect(start * 30).toBeLessThanOrEqual(top)
        expect(end * 30).toBeGreaterThanOrEqual(Math.min(count * 30, top + 300))
      }
    }
  })

  it('knows whether it is at its end, also when everything fits', () => {
    expect(atEnd({ ...extent, scrollTop: 29_700 })).toBe(true)
    expect(atEnd({ ...extent, scrollTop: 29_690 })).toBe(true)
    expect(atEnd({ ...extent, scrollTop: 29_600 })).toBe(false)
    expect(atEnd({ ...extent, count: 3 })).toBe(true)
  })

  it('moves as little as possible to show a row', () => {
    const middle = { ...extent, scrollTop: 3000 }
    expect(reveal(105, middle)).toBe(3000)
    expect(reveal(50, middle)).toBe(1500)
    expect(reveal(110, middle)).toBe(3030)
  })

  it('keeps its position when rows are removed at the start', () => {
    expect(afterDrop(3000, 10, 30)).toBe(2700)
    expect(afterDrop(100, 10, 30)).toBe(0)
  })
})
