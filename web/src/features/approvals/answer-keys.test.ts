/** Keys: no accidental answer. */
import { describe, expect, it } from 'vitest'
import type { AnswerScope } from '../../proto/index.ts'
import { isFocusShortcut, keyCommand, type KeyPress } from './answer-keys.ts'
import { allowLabel, answerKeys, keyScopes, scopeKey } from './labels.ts'

const ALL: readonly AnswerScope[] = ['once', 'session', 'until', 'always']
const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({ key, ctrlKey: false, metaKey: false, altKey: false, repeat: false, ...more })

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
  ])('%s does what its tooltip says', (key, command) => {
    expect(keyCommand(press(key), { ready: true, scopes: ALL })).toEqual(command)
  })

  it.each(['Enter', ' ', 'A', 'y', 'Tab', 'x'])('%s answers nothing', (key) => {
    expect(keyCommand(press(key), { ready: true, scopes: ALL })).toBeNull()
  })

  it.each(['a', 's', 'd', 'm'])('%s does nothing before the card has settled, held down, or with another key', (key) => {
    expect(keyCommand(press(key), { ready: false, scopes: ALL })).toBeNull()
    expect(keyCommand(press(key, { repeat: true }), { ready: true, scopes: ALL })).toBeNull()
    for (const mod of ['ctrlKey', 'metaKey', 'altKey']) expect(keyCommand(press(key, { [mod]: true }), { ready: true, scopes: ALL })).toBeNull()
  })

  it('is listed where it works, and does what its label says', () => {
    const offered = (...scopes: readonly AnswerScope[]) => ({ question: { gate: null, trust: null, choices: scopes.map((scope) => ({ scope })) } })
    expect(answerKeys(offered(...ALL))).toEqual(['A', 'S', 'D', 'M'])
    expect(answerKeys(offered('once'))).toEqual(['A', 'D', 'M'])
    for (const key of answerKeys(offered(...ALL))) expect(keyCommand(press(key.toLowerCase()), { ready: true, scopes: ALL }), key).not.toBeNull()
  })

  it('allows nothing behind a hard gate', () => {
    const gated = { question: { gate: 'it deletes the project', trust: null, choices: [{ scope: 'once' as const }] } }
    expect(answerKeys(gated)).toEqual(['D', 'M'])
    expect(scopeKey(gated, 'once')).toBeNull()
    expect(allowLabel(gated, 'once')).toBe('Allow this dangerous action')
    for (const key of ['a', 's']) expect(keyCommand(press(key), { ready: true, scopes: keyScopes(gated) })).toBeNull()
    expect(keyCommand(press('d'), { ready: true, scopes: keyScopes(gated) })).toEqual({ kind: 'deny' })
  })

  it('trusts a role where it says so', () => {
    const untrusted = { question: { gate: null, trust: { what: 'role' as const }, choices: [{ scope: 'once' as const }] } }
    expect(allowLabel(untrusted, 'once')).toBe('Trust this role and continue')
    expect(answerKeys(untrusted)).toEqual(['A', 'D', 'M'])
    expect(allowLabel({ question: { ...untrusted.question, trust: null } }, 'once')).toBe('Allow once')
  })

  it('with Alt focuses the approval, and alone does not', () => {
    const alt = { code: 'KeyA', altKey: true, ctrlKey: false, metaKey: false, shiftKey: false }
    expect(isFocusShortcut(alt)).toBe(true)
    for (const more of [{ altKey: false }, { ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { code: 'KeyB' }]) expect(isFocusShortcut({ ...alt, ...more })).toBe(false)
  })

  it('gives no answer that the approval does not offer', () => {
    expect(keyCommand(press('s'), { ready: true, scopes: ['once'] })).toBeNull()
    expect(keyCommand(press('a'), { ready: true, scopes: [] })).toBeNull()
  })
})
