import { describe, expect, test } from 'vitest'
import { linkHost, MarkdownParser, parseMarkdown, plainText, safeHref, type Block } from './markdown.ts'

const SAMPLES = [
  '# Title\n\nA *b* **c** `d`\nsame paragraph.\n\nSetext\n------\n\nend',
  '- one\n- two\n\n  still two\n\n- three\n  1. deep\n  2. deeper\n\nafter\n\n3. third\n4. fourth\n',
  'before\n```rust\nfn main() {}\n\n# not a title\n```\nafter\n\n~~~\nopen to the end',
  '> quoted\n> - list\nlazy\n\n| a | b |\n|---|---|\n| 1 | `2` |\n| 3 | 4 |\n\ndone\n\n---\n\n- [ ] todo\n- [x] did\n',
  '<div onclick="x">\n<script>alert(1)</script>\n</div>\n\n[a](javascript:alert(1)) ![i](https://x/y.png) <b>no</b>\n\n[ref]: https://x\n',
  '1. a\n\n   code\n\n2. b\n\n-\n- x\n\n    indented\n\nfoo\n===\n* * *\n',
]

describe('a growing text', () => {
  test('is parsed to the same blocks for any chunk boundaries', () => {
    for (const sample of SAMPLES) {
      const whole = parseMarkdown(sample)
      for (let step = 1; step <= 7; step++) {
        const growing = new MarkdownParser()
        let last: readonly Block[] = []
        for (let end = step; end < sample.length + step; end += step) last = growing.parse(sample.slice(0, end))
        expect(last, `${sample.slice(0, 20)}… by ${String(step)}`).toEqual(whole)
      }
    }
  })

  test('keeps final blocks, so that they are not drawn again', () => {
    const growing = new MarkdownParser()
    const [first] = growing.parse('one\n\ntwo\n\nthr')
    expect(growing.parse('one\n\ntwo\n\nthree\n\nfour')[0]).toBe(first)
  })

  test('is parsed in time proportional to what was added', () => {
    const paragraph = 'Some words that *mean* little, again and again, and `code`.\n\n'
    const growing = new MarkdownParser()
    let text = ''
    const began = performance.now()
    while (text.length < 100_000) growing.parse((text += paragraph.slice(0, 20)) && (text += paragraph.slice(20)))
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(growing.parse(text)).toHaveLength(Math.ceil(100_000 / paragraph.length))
  })

  test('is parsed anew when it was replaced', () => {
    const growing = new MarkdownParser()
    growing.parse('one\n\ntwo\n\nthree')
    expect(growing.parse('other')).toEqual(parseMarkdown('other'))
  })
})

describe('text of a model', () => {
  test('never becomes markup: HTML is shown as source text', () => {
    const [html, line] = parseMarkdown('<img src=x onerror=alert(1)>\n\nsay <b onclick=x>hi</b> &lt;i&gt;')
    expect(html).toEqual({ kind: 'paragraph', content: [{ kind: 'text', text: '<img src=x onerror=alert(1)>' }] })
    expect(line?.kind === 'paragraph' && plainText(line.content)).toBe('say <b onclick=x>hi</b> <i>')
  })

  test('links only to http, https and mailto', () => {
    for (const href of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/api/shutdown', '#/x', 'vbscript:x']) {
      expect(safeHref(href), href).toBeNull()
    }
    expect(safeHref('https://example.com/a')).toBe('https://example.com/a')
    expect(linkHost('https://user@evil.example:8443/google.com')).toBe('evil.example:8443')
    expect(linkHost('mailto:a@b.example')).toBe('a@b.example')
  })

  test('is not parsed beyond the deepest nesting', () => {
    expect(JSON.stringify(parseMarkdown(`${'> '.repeat(200)}deep`))).toContain('deep')
    expect(JSON.stringify(parseMarkdown(`${'*'.repeat(500)}a${'*'.repeat(500)}`)).length).toBeLessThan(20_000)
  })
})
