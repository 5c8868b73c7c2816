/** The last lines of a text that grows: the same however it is cut, and never more than are held. */
import { describe, expect, it } from 'vitest'
import { Lines } from './line-buffer.ts'

describe('the last lines', () => {
  it('are the same wherever the text is cut', () => {
    const text = 'one\n\ntwo\r\nthree'
    for (let cut = 0; cut <= text.length; cut++) {
      const lines = new Lines()
      lines.push(text.slice(0, cut))
      lines.push(text.slice(cut))
      expect(lines.all(), `cut at ${String(cut)}`).toEqual([
        { n: 0, text: 'one' },
        { n: 1, text: '' },
        { n: 2, text: 'two\r' },
        { n: 3, text: 'three' },
      ])
    }
  })

  it('keep their numbers when the first are gone', () => {
    const lines = new Lines(3)
    for (let n = 0; n < 10; n++) lines.push(`${String(n)}\n`)
    expect(lines.all().map(({ n, text }) => [n, text])).toEqual([[7, '7'], [8, '8'], [9, '9']])
    expect(lines.gone).toBe(7)
  })

  it('do not grow without end, and say so', () => {
    const lines = new Lines()
    for (let n = 0; n < 100; n++) lines.push('x'.repeat(1000))
    expect(lines.all()[0]?.text.length).toBeLessThan(8_100)
    expect(lines.all()[0]?.text).toContain('more characters')
  })
})
