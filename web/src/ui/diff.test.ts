/** Diffs: the kind of a line depends on its position, not on its text. */
import { describe, expect, it } from 'vitest'
import { fileMark, parseDiff } from './diff.ts'

const kinds = (text: string): readonly string[] => parseDiff(text).lines.map(({ kind, text: content }) => `${kind} ${content}`)

describe('a diff', () => {
  it('has file headers, hunks and numbered lines', () => {
    const { lines, added, removed } = parseDiff('--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn main\n one\n-two\n+zwei\n')
    expect(lines.map(({ kind, old, now }) => [kind, old, now])).toEqual([
      ['file', null, null],
      ['file', null, null],
      ['hunk', null, null],
      ['same', 3, 3],
      ['del', 4, null],
      ['add', null, 4],
    ])
    expect({ added, removed }).toEqual({ added: 1, removed: 1 })
  })

  it('is not fooled by text that looks like a header', () => {
    expect(kinds('@@ -1,2 +1,3 @@\n--- a/harmless\n+++ b/harmless\n+@@ -1 +1 @@\n same\n')).toEqual([
      'hunk @@ -1,2 +1,3 @@',
      'del -- a/harmless',
      'add ++ b/harmless',
      'add @@ -1 +1 @@',
      'same same',
    ])
  })

  it('counts a hunk without numbers as one line', () => {
    expect(kinds('@@ -1 +1 @@\n-a\n+b\nrest')).toEqual(['hunk @@ -1 +1 @@', 'del a', 'add b', 'file rest'])
  })

  it('keeps a carriage return, an empty line and the note on the last line', () => {
    expect(kinds('@@ -1,2 +1,2 @@\n\n-a\r\n+a\n\\ No newline at end of file')).toEqual([
      'hunk @@ -1,2 +1,2 @@',
      'same ',
      'del a\r',
      'add a',
      'note No newline at end of file',
    ])
  })

  it('shows invalid lines completely', () => {
    expect(kinds('@@ -1,2 +1,2 @@\n a\nnonsense\n+later')).toEqual(['hunk @@ -1,2 +1,2 @@', 'same a', 'note nonsense', 'file +later'])
  })

  it('continues after lines that it declares as omitted', () => {
    expect(kinds('@@ -1,9 +1,2 @@\n-a\n… (8 more lines with `-` are not shown)\n+b\n+… (1 line of this diff is not shown)\n… (3 lines of this diff are not shown)\n')).toEqual([
      'hunk @@ -1,9 +1,2 @@',
      'del a',
      'cut … (8 more lines with `-` are not shown)',
      'add b',
      'add … (1 line of this diff is not shown)',
      'cut … (3 lines of this diff are not shown)',
    ])
  })

  it('without hunks is plain text', () => {
    const { lines, added, removed } = parseDiff('+ a list\n- in Markdown\n')
    expect(lines).toEqual([
      { kind: 'same', text: '+ a list', old: null, now: 1 },
      { kind: 'same', text: '- in Markdown', old: null, now: 2 },
    ])
    expect([added, removed]).toEqual([0, 0])
    expect(parseDiff('').lines).toEqual([])
  })
})

it('the mark before the name of a file is not a part of it', () => {
  const names = ['--- a/notes.md', '+++ /dev/null', '+++\u{a0}x', '---', 'Binary files differ']
  expect(names.map((line) => fileMark(line))).toEqual(['--- ', '+++ ', '', '', ''])
})
