/** ANSI parsing: colors are kept, other control sequences are dropped. */
import { describe, expect, it } from 'vitest'
import { parseAnsi } from './ansi.ts'

const text = (line: string): string => parseAnsi(line).map((run) => run.text).join('')

describe('a line of output', () => {
  it.each([
    ['plain', 'plain'],
    ['\x1b[31mred\x1b[0m and \x1b[1;92mbold green\x1b[39m', 'red and bold green'],
    ['\x1b[2J\x1b[H\x1b[?25lcleared', 'cleared'],
    ['\x1b]0;title\x07after', 'after'],
    ['\x1b]8;;http://evil/\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['\x1b]52;c;c2VjcmV0\x07', ''],
    ['10 %\r50 %\r100 %\r', '100 %'],
    ['a\x08\x00b\tc', 'ab\tc'],
    ['\x1bcreset', 'reset'],
    ['\x1b[38;5;196', '38;5;196'],
  ])('%j is drawn as %j', (line, expected) => {
    expect(text(line)).toBe(expected)
  })

  it('keeps colors and weights, in all their spellings', () => {
    expect(parseAnsi('\x1b[31;1mA\x1b[22mB\x1b[38;5;12mC\x1b[48;2;1;2;3mD\x1b[38:2:9:8:7mE\x1b[mF')).toMatchObject([
      { text: 'A', fg: 1, bold: true },
      { text: 'B', fg: 1, bold: false },
      { text: 'C', fg: 12, bg: null },
      { text: 'D', fg: 12, bg: 'rgb(1 2 3)' },
      { text: 'E', fg: 'rgb(9 8 7)' },
      { text: 'F', fg: null, bg: null },
    ])
    expect(parseAnsi('\x1b[38;5;196mX\x1b[38;5;244mY')).toMatchObject([{ fg: 'rgb(255 0 0)' }, { fg: 'rgb(128 128 128)' }])
  })
})
