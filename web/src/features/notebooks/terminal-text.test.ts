import { describe, expect, it } from 'vitest'
import { terminalLines } from './terminal-text.ts'

describe('printed text', () => {
  it.each([
    ['one\ntwo\n', ['one', 'two']],
    ['10%\r20%\r100%', ['100%']],
    ['long line\rab', ['abng line']],
    ['long line\r\x1b[Kab', ['ab']],
    ['windows\r\nline', ['windows', 'line']],
    ['\x1b[32m50%\x1b[0m\r\x1b[32m99%\x1b[0m\n', ['\x1b[32m99%\x1b[0m']],
    ['abc\b\bX', ['aX']],
    ['', []],
    ['\n\n', ['', '']],
  ])('%j is shown as %j', (text, lines) => expect(terminalLines(text)).toEqual(lines))
})
