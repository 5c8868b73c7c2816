import { describe, expect, it } from 'vitest'
import { NotebookKeys } from './keyboard.ts'

const PLAIN = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false }
const press = (key: string, keys = new NotebookKeys(), at = 0, mode: 'command' | 'edit' = 'command') => keys.read({ ...PLAIN, key }, mode, at)

describe('the keys of a notebook', () => {
  it.each([
    ['Enter', 'edit'],
    ['a', 'above'],
    ['b', 'below'],
    ['m', 'markdown'],
    ['y', 'code'],
    ['ArrowDown', 'next'],
    ['q', null],
  ])('%s in command mode is %s', (key, action) => expect(press(key)).toBe(action))

  it('deletes a cell with two presses and not with one', () => {
    const keys = new NotebookKeys()
    expect([press('d', keys, 0), press('d', keys, 100)]).toEqual([null, 'delete'])
    expect([press('d', keys, 200), press('a', keys, 250), press('d', keys, 300)]).toEqual([null, 'above', null])
    expect(press('d', keys, 2000)).toBeNull()
  })

  it('leaves letters to the text in edit mode', () => {
    expect(press('a', new NotebookKeys(), 0, 'edit')).toBeNull()
    expect(press('Escape', new NotebookKeys(), 0, 'edit')).toBe('command')
  })

  it('runs in both modes', () => {
    for (const mode of ['command', 'edit'] as const) {
      expect(new NotebookKeys().read({ ...PLAIN, key: 'Enter', shiftKey: true }, mode, 0)).toBe('runAndAdvance')
      expect(new NotebookKeys().read({ ...PLAIN, key: 'Enter', ctrlKey: true }, mode, 0)).toBe('run')
    }
  })
})
