/** The line buffer: the same lines for any chunk boundaries, and never more than the limit. */
import { describe, expect, it } from 'vitest'
import { LineBuffer } from './line-buffer.ts'

describe('the line buffer', () => {
  it('has the same lines for any chunk boundary', () => {
    const text = 'one\n\ntwo\r\nthree'
    for (let cut = 0; cut <= text.length; cut++) {
      const lines = new LineBuffer()
      lines.push(text.slice(0, cut))
      lines.push(text.slice(cut))
      expect(lines.all(), `split at ${String(cut)}`).toEqual([
        { n: 0, text: 'one' },
        { n: 1, text: '' },
        { n: 2, text: 'two\r' },
        { n: 3, text: 'three' },
      ])
    }
  })

  it('keeps line numbers when it drops the first lines', () => {
    const lines = new LineBuffer(3)
    for (let n = 0; n < 10; n++) lines.push(`${String(n)}\n`)
    expect(lines.all().map(({ n, text }) => [n, text])).toEqual([[7, '7'], [8, '8'], [9, '9']])
    expect(lines.dropped).toBe(7)
  })

  it('shortens a long line and says so', () => {
    const lines = new LineBuffer()
    for (let n = 0; n < 100; n++) lines.push('x'.repeat(1000))
    expect(lines.all()[0]?.text.length).toBeLessThan(8_100)
    expect(lines.all()[0]?.text).toContain('more characters')
  })
})
