/** Keys: no answer by accident. */
import { describe, expect, it } from 'vitest'
import type { AnswerScope } from '../../proto/index.ts'
import { deedOf, isCall, type Press } from './keys.ts'
import { keysOf } from './words.ts'

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

  it('is named where it works, and does what it is named for', () => {
    const offered = (...scopes: readonly AnswerScope[]) => ({ question: { choices: scopes.map((scope) => ({ scope })) } })
    expect(keysOf(offered(...ALL))).toEqual(['A', 'S', 'D', 'M'])
    expect(keysOf(offered('once'))).toEqual(['A', 'D', 'M'])
    for (const key of keysOf(offered(...ALL))) expect(deedOf(press(key.toLowerCase()), { ready: true, scopes: ALL }), key).not.toBeNull()
  })

  it('with Alt calls for the request, and alone does not', () => {
    const alt = { code: 'KeyA', altKey: true, ctrlKey: false, metaKey: false, shiftKey: false }
    expect(isCall(alt)).toBe(true)
    for (const more of [{ altKey: false }, { ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { code: 'KeyB' }]) expect(isCall({ ...alt, ...more })).toBe(false)
  })

  it('gives no answer that the question does not offer', () => {
    expect(deedOf(press('s'), { ready: true, scopes: ['once'] })).toBeNull()
    expect(deedOf(press('a'), { ready: true, scopes: [] })).toBeNull()
  })
})
