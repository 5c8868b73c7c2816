/** The shortcuts of the terminal pane. */
import { describe, expect, it } from 'vitest'
import { paneShortcut } from './shortcuts.ts'

const key = (name: string, more: object = {}): KeyboardEvent => ({ key: name, ctrlKey: false, shiftKey: false, metaKey: false, altKey: false, ...more }) as KeyboardEvent

describe('a key in the terminal', () => {
  it.each([
    [key('c', { ctrlKey: true }), null],
    [key('k', { ctrlKey: true }), null],
    [key('F', { ctrlKey: true, shiftKey: true }), 'find'],
    [key('C', { ctrlKey: true, shiftKey: true }), 'copy'],
    [key('V', { ctrlKey: true, shiftKey: true }), 'paste'],
    [key('K', { ctrlKey: true, shiftKey: true }), 'palette'],
    [key('c', { metaKey: true }), 'copy'],
    [key('C', { ctrlKey: true, shiftKey: true, altKey: true }), null],
    [key('Tab'), null],
    [key('Escape'), null],
  ])('%# is a shortcut or terminal input', (event, expected) => {
    expect(paneShortcut(event)).toBe(expected)
  })
})
