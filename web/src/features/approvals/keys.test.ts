/** Keys: no answer by accident. */
import { describe, expect, it } from 'vitest'
import type { AnswerScope } from '../../proto/index.ts'
import { deedOf, type Press } from './keys.ts'

const ALL: readonly AnswerScope[] = ['once', 'session', 'until', 'always']
const press = (key: string, more: Partial<Press> = {}): Press => ({ key, ctrlKey: false, metaKey: false, altKey: false, repeat: false, ...more })

describe('a key', () => {
  it.each([
    ['a', { kind: 'allow', scope: 'once' }],
    ['s', { kind: 'allow', scope: 'session' }],
    ['d', { kind: 'deny' }],
    ['m', { kind: 'message' }],
    ['j', { kind: 'move', by: 1 }],
    ['ArrowDown', { kind: 'move', by: 1 }],
    ['k', { kind: 'move', by: -1 }],
    ['ArrowUp', { kind: 'move', by: -1 }],
    ['Escape', { kind: 'close' }],
  ])('%s does what its tooltip says', (key, deed) => {
    expect(deedOf(press(key), { ready: true, scopes: ALL })).toEqual(deed)
  })

  it.each(['Enter', ' ', 'A', 'y', 'Tab', 'x'])('%s answers nothing', (key) => {
    expect(deedOf(press(key), { ready: true, scopes: ALL })).toBeNull()
  })

  it.each(['a', 's', 'd', 'm'])('%s does nothing before the card has settled, held down, or with another key', (key) => {
    expect(deedOf(press(key), { ready: false, scopes: ALL })).toBeNull()
    expect(deedOf(press(key, { repeat: true }), { ready: true, scopes: ALL })).toBeNull()
    for (const mod of ['ctrlKey', 'metaKey', 'altKey']) expect(deedOf(press(key, { [mod]: true }), { ready: true, scopes: ALL })).toBeNull()
  })

  it('gives no answer that the question does not offer', () => {
    expect(deedOf(press('s'), { ready: true, scopes: ['once'] })).toBeNull()
    expect(deedOf(press('a'), { ready: true, scopes: [] })).toBeNull()
  })
})
