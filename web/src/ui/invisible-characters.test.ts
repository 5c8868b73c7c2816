/** Invisible characters are escaped; everything else is unchanged. */
import { describe, expect, it } from 'vitest'
import { splitInvisible, escapeInvisible } from './invisible-characters.ts'

describe('untrusted text', () => {
  it.each([
    ['plain text, Grüße, 日本語, 🦀', 'plain text, Grüße, 日本語, 🦀'],
    ['<img src=x onerror=alert(1)> & "quotes"', '<img src=x onerror=alert(1)> & "quotes"'],
    ['a\u202Egnp.exe\u202C', 'a\\u{202E}gnp.exe\\u{202C}'],
    ['\u2066x\u2069\u200E\u200F\u061C', '\\u{2066}x\\u{2069}\\u{200E}\\u{200F}\\u{61C}'],
    ['zero\u200Bwidth\u200C\u200D\u2060\uFEFF\u00AD', 'zero\\u{200B}width\\u{200C}\\u{200D}\\u{2060}\\u{FEFF}\\u{AD}'],
    ['\u0000\u0007\u001B[31m\u007F\u009B', '\\u{0}\\u{7}\\u{1B}[31m\\u{7F}\\u{9B}'],
    ['line\nreturn\rtab\t', 'line\\nreturn\\rtab\\t'],
    ['no\u00A0break\u3000wide\u2028\u2029', 'no\\u{A0}break\\u{3000}wide\\u{2028}\\u{2029}'],
    ['tag\u{E0041}\u{FE0F}\u{E0100}', 'tag\\u{E0041}\\u{FE0F}\\u{E0100}'],
    ['filler\u3164\u115F\u2800\u034F', 'filler\\u{3164}\\u{115F}\\u{2800}\\u{34F}'],
    ['e\u0301\u0302\u0303\u0304\u0305', 'e\u0301\u0302\u0303\u0304\\u{305}'],
    ['lone \uD800 surrogate', 'lone \\u{D800} surrogate'],
  ])('%j', (text, expected) => {
    expect(escapeInvisible(text)).toBe(expected)
    expect(splitInvisible(text).map((segment) => segment.text).join('')).toBe(expected)
  })

  it.each([
    ['src/main.rs', 'src/main.rs'],
    ['my file.txt', 'my file.txt'],
    ['Käse/größe-ñ.md', 'Käse/größe-ñ.md'],
    ['привет.md', 'привет.md'],
    ['テスト日本語v2.md', 'テスト日本語v2.md'],
    ['notes 👍.md', 'notes 👍.md'],
    ['a  b', 'a\\u{2 spaces}b'],
    [' a/b /c ', '\\u{20}a/b\\u{20}/c\\u{20}'],
    ['p\u0430ckage.json', 'p\\u{430}ckage.json'],
    ['\u0441\u043E\u0440\u0443.md', '\\u{441}\\u{43E}\\u{440}\\u{443}.md'],
    ['Make\u042Ffile', 'Make\\u{42F}file'],
    ['\u13B7akefile', '\\u{13B7}akefile'],
    ['\u{1D42C}rc/\u{1D7CF}', '\\u{1D42C}rc/\\u{1D7CF}'],
    ['a\u2215b\u2024c\u2013d', 'a\\u{2215}b\\u{2024}c\\u{2013}d'],
  ])('the name %j', (name, expected) => {
    expect(splitInvisible(name, 'name').map((segment) => segment.text).join('')).toBe(expected)
  })

  it('shows letters that look like ASCII letters in any text', () => {
    expect(escapeInvisible('https://g\u0456thub.com  x')).toBe('https://g\\u{456}thub.com  x')
    expect(escapeInvisible('привет, мир: Δt 5 µs λx')).toBe('привет, мир: Δt 5 µs λx')
  })

  it('distinguishes an escape from the same letters typed out', () => {
    expect(splitInvisible('\\u{202E}')).toEqual([{ text: '\\u{202E}', escaped: false }])
    expect(splitInvisible('\u202E')).toEqual([{ text: '\\u{202E}', escaped: true }])
  })

  it('leaves no invisible character of Unicode', () => {
    const left: string[] = []
    for (let point = 0; point < 0x110000; point++) {
      const char = String.fromCodePoint(point)
      if (char !== ' ' && /[\p{C}\p{Z}]/u.test(char) && !escapeInvisible(char).startsWith('\\')) left.push(point.toString(16))
    }
    expect(left).toEqual([])
  })
})
