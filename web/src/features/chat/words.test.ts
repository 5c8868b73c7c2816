import { describe, expect, it } from 'vitest'
import type { SessionItem, ModelList, RoleView, TurnView } from '../../proto/index.ts'
import { hasModel, missingOf, modelChoices, usualRole } from './choices.ts'
import { callSaid, changeOf, endsBefore, endSaid, paramsOf } from './words.ts'

describe('a call in words', () => {
  it('says what is done to what', () => {
    const table: readonly (readonly [string, unknown, string])[] = [
      ['fs.readFile', { path: 'a.md', startLine: 3, lineCount: 9 }, 'Read a.md, 9 lines from 3'],
      ['fs.writeFile', { path: 'a', content: 'x', mode: 'append' }, 'Append to a'],
      ['fs.applyPatch', { patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/y\n+++ b/y\n' }, 'Apply a patch to x, y'],
      ['terminal.runCommand', { argv: ['make', 'test'], background: true }, 'Run in the background make test'],
      ['runtime.run', {}, 'Start the dev server '],
      ['handoff', { role: 'ops', task: 'x' }, 'Hand over to ops'],
      ['made.up', 'nonsense', 'made.up '],
    ]
    for (const [tool, args, said] of table) {
      const { verb, what } = callSaid(tool, JSON.stringify(args))
      expect(`${verb} ${what}`).toBe(said)
    }
  })

  it('shows arguments that are no JSON as they are', () => {
    expect(callSaid('fs.readFile', '{"path":').verb).toBe('Read')
    expect(paramsOf('{"path":')).toEqual([{ name: 'arguments', value: '{"path":' }])
    expect(paramsOf('{}')).toEqual([])
  })

  it('tells a change from its arguments', () => {
    expect(changeOf('fs.editFile', JSON.stringify({ path: 'a', edits: [{ old: 'x\ny', new: 'z' }] }))).toBe('--- a/a\n+++ b/a\n@@ -1,2 +1,1 @@\n-x\n-y\n+z\n')
    expect(changeOf('fs.writeFile', JSON.stringify({ path: 'a', content: 'x\n' }))).toBe('--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n')
    expect(changeOf('fs.readFile', '{"path":"a"}')).toBeNull()
  })
})

describe('how a turn ended', () => {
  const turn = (id: string, how: Partial<TurnView> = {}) => ({ id, status: 'finished', reason: 'done', fault: null, ...how }) as TurnView
  const item = (place: number, of: string | null, from: 'user' | 'assistant', text: string, type = 'text') => ({ item: place, turn: of, at: 0, content: { type: 'message', message: 'm', from, parts: [{ type, text }] } }) as SessionItem
  const call = (place: number, of: string) => ({ item: place, turn: of, at: 0, content: { type: 'tool' } }) as SessionItem

  it('is told where nothing was said', () => {
    const asked = item(0, 't1', 'user', 'Hello?')
    for (const [items, title] of [
      [[asked], 'The model said nothing'],
      [[asked, item(1, 't1', 'assistant', ' ')], 'The model said nothing'],
      [[asked, item(1, 't1', 'assistant', 'Hm.', 'reasoning')], 'The model said nothing'],
      [[asked, item(1, 't1', 'assistant', 'I look.'), call(2, 't1')], 'The model said nothing more'],
      [[asked, item(1, 't1', 'assistant', 'Hello.')], undefined],
      [[asked, item(1, 't1', 'assistant', 'No.', 'refusal')], undefined],
    ] as const) expect(endSaid(turn('t1'), items)?.title).toBe(title)
  })

  it('stays below its own items when others came', () => {
    const items = [item(0, 't1', 'user', 'a'), item(1, 't1', 'assistant', 'long'), item(2, 't3', 'user', 'b'), item(3, 't3', 'assistant', 'c'), item(4, null, 'user', 'waits')]
    const fault = { code: 'UNAVAILABLE', message: 'no line', details: null } as TurnView['fault']
    const ended = [turn('t1', { reason: 'maxTokens' }), turn('t2', { status: 'failed', fault }), turn('t3', { reason: 'refused' }), turn('t4')]
    const titles = (current: string) => [...endsBefore(current, ended, items)].map(([place, ends]) => [place, ends.map(({ title }) => title)])
    expect(titles('t5')).toEqual([[1, ['The answer is as long as it may be', 'The turn failed']], [3, ['The model declined', 'The model said nothing']]])
    expect(titles('t4')).toEqual([[1, ['The answer is as long as it may be', 'The turn failed']], [3, ['The model declined']]])
  })
})

describe('what can be chosen', () => {
  const list: ModelList = {
    models: [{ name: 'script/tour', title: 'The tour', scripted: true }],
    providers: [
      { name: 'anthropic', ready: true, missing: null },
      { name: 'openai', ready: false, missing: 'set OPENAI_API_KEY' },
    ],
    default: 'openai/x',
  }
  const role = (name: string, trusted: boolean, model: string | null = null): RoleView => ({ name, trusted, model }) as RoleView

  it('says why a model cannot be asked', () => {
    expect(missingOf('anthropic/a', list)).toBeNull()
    expect(missingOf('script/tour', list)).toBeNull()
    expect(missingOf('openai/x', list)).toBe('set OPENAI_API_KEY')
    expect(missingOf('script/other', list)).toBe('there is no such script')
    for (const name of ['', 'x', '/x', 'x/', 'nobody/x']) expect(missingOf(name, list), name).not.toBeNull()
    expect(hasModel(list)).toBe(true)
    expect(hasModel({ ...list, providers: [] })).toBe(false)
  })

  it('begins with what the role says, or the usual one', () => {
    expect(modelChoices(role('dev', true, 'anthropic/a'), list)[0]).toMatchObject({ value: '', label: 'anthropic/a, as the role says', missing: null })
    expect(modelChoices(role('dev', true), list)[0]).toMatchObject({ label: 'openai/x, the usual one', missing: 'set OPENAI_API_KEY' })
    expect(modelChoices(null, { ...list, default: null })[0]?.missing).not.toBeNull()
    expect(usualRole([role('a', false), role('b', true)])?.name).toBe('b')
    expect(usualRole([])).toBeNull()
  })
})
