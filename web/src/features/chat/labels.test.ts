import { describe, expect, it } from 'vitest'
import type { SessionItem, ModelList, RoleView, TurnView } from '../../proto/index.ts'
import { defaultRole, hasModel, modelChoices, unavailableReason } from './model-choices.ts'
import { callParams, describeCall, describeTurnEnd, diffFromArguments, pastTurnEnds } from './labels.ts'

describe('the description of a call', () => {
  it('has a verb and an object', () => {
    const table: readonly (readonly [string, unknown, string])[] = [
      ['fs.readFile', { path: 'a.md', startLine: 3, lineCount: 9 }, 'Read a.md, 9 lines from 3'],
      ['fs.writeFile', { path: 'a', content: 'x', mode: 'append' }, 'Append to a'],
      ['fs.applyPatch', { patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/y\n+++ b/y\n' }, 'Apply a patch to x, y'],
      ['fs.applyPatch', { patch: '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- a/y\n+++ b/y\n' }, 'Delete by a patch x and change y'],
      ['terminal.runCommand', { argv: ['make', 'test'], background: true }, 'Run in the background make test'],
      ['runtime.run', {}, 'Start the dev server '],
      ['handoff', { role: 'ops', task: 'x' }, 'Hand off to ops'],
      ['made.up', 'nonsense', 'made.up '],
    ]
    for (const [tool, args, expected] of table) {
      const { verb, object } = describeCall(tool, JSON.stringify(args))
      expect(`${verb} ${object}`).toBe(expected)
    }
  })

  it('shows arguments that are not JSON unchanged', () => {
    expect(describeCall('fs.readFile', '{"path":').verb).toBe('Read')
    expect(callParams('{"path":')).toEqual([{ name: 'arguments', value: '{"path":' }])
    expect(callParams('{}')).toEqual([])
  })

  it('derives a diff from the arguments', () => {
    expect(diffFromArguments('fs.editFile', JSON.stringify({ path: 'a', edits: [{ old: 'x\ny', new: 'z' }] }))).toBe('--- a/a\n+++ b/a\n@@ -1,2 +1,1 @@\n-x\n-y\n+z\n')
    expect(diffFromArguments('fs.writeFile', JSON.stringify({ path: 'a', content: 'x\n' }))).toBe('--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n')
    expect(diffFromArguments('fs.readFile', '{"path":"a"}')).toBeNull()
  })
})

describe('the end of a turn', () => {
  const turn = (id: string, how: Partial<TurnView> = {}) => ({ id, status: 'finished', reason: 'done', fault: null, ...how }) as TurnView
  const item = (index: number, turnId: string | null, from: 'user' | 'assistant', text: string, type = 'text') => ({ item: index, turn: turnId, at: 0, content: { type: 'message', message: 'm', from, parts: [{ type, text }] } }) as SessionItem
  const call = (index: number, turnId: string) => ({ item: index, turn: turnId, at: 0, content: { type: 'tool' } }) as SessionItem

  it('is reported if there was no answer', () => {
    const asked = item(0, 't1', 'user', 'Hello?')
    for (const [items, title] of [
      [[asked], 'The model sent no answer'],
      [[asked, item(1, 't1', 'assistant', ' ')], 'The model sent no answer'],
      [[asked, item(1, 't1', 'assistant', 'Hm.', 'reasoning')], 'The model sent no answer'],
      [[asked, item(1, 't1', 'assistant', 'I look.'), call(2, 't1')], 'The model sent no further answer'],
      [[asked, item(1, 't1', 'assistant', 'Hello.')], undefined],
      [[asked, item(1, 't1', 'assistant', 'No.', 'refusal')], undefined],
    ] as const) expect(describeTurnEnd(turn('t1'), items)?.title).toBe(title)
  })

  it('stays below its own items when later ones follow', () => {
    const items = [item(0, 't1', 'user', 'a'), item(1, 't1', 'assistant', 'long'), item(2, 't3', 'user', 'b'), item(3, 't3', 'assistant', 'c'), item(4, null, 'user', 'waits')]
    const fault = { code: 'UNAVAILABLE', message: 'no line', details: null } as TurnView['fault']
    const ended = [turn('t1', { reason: 'maxTokens' }), turn('t2', { status: 'failed', fault }), turn('t3', { reason: 'refused' }), turn('t4')]
    const titles = (current: string) => [...pastTurnEnds(current, ended, items)].map(([index, ends]) => [index, ends.map(({ title }) => title)])
    expect(titles('t5')).toEqual([[1, ['The answer reached the token limit', 'The turn failed']], [3, ['The model declined', 'The model sent no answer']]])
    expect(titles('t4')).toEqual([[1, ['The answer reached the token limit', 'The turn failed']], [3, ['The model declined']]])
  })
})

describe('the choices', () => {
  const list: ModelList = {
    models: [{ name: 'script/tour', title: 'The tour', scripted: true }],
    providers: [
      { name: 'anthropic', ready: true, missing: null },
      { name: 'openai', ready: false, missing: 'set OPENAI_API_KEY' },
    ],
    default: 'openai/x',
  }
  const role = (name: string, trusted: boolean, model: string | null = null): RoleView => ({ name, trusted, model }) as RoleView

  it('say why a model is unavailable', () => {
    expect(unavailableReason('anthropic/a', list)).toBeNull()
    expect(unavailableReason('script/tour', list)).toBeNull()
    expect(unavailableReason('openai/x', list)).toBe('set OPENAI_API_KEY')
    expect(unavailableReason('script/other', list)).toBe('no such script')
    for (const name of ['', 'x', '/x', 'x/', 'nobody/x']) expect(unavailableReason(name, list), name).not.toBeNull()
    expect(hasModel(list)).toBe(true)
    expect(hasModel({ ...list, providers: [] })).toBe(false)
  })

  it('begin with the model of the role, or the default', () => {
    expect(modelChoices(role('dev', true, 'anthropic/a'), list)[0]).toMatchObject({ value: '', label: 'anthropic/a, from the role', unavailable: null })
    expect(modelChoices(role('dev', true), list)[0]).toMatchObject({ label: 'openai/x, default', unavailable: 'set OPENAI_API_KEY' })
    expect(modelChoices(null, { ...list, default: null })[0]?.unavailable).not.toBeNull()
    expect(defaultRole([role('a', false), role('b', true)])?.name).toBe('b')
    expect(defaultRole([])).toBeNull()
  })
})
