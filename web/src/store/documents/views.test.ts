/** Documents: changes replace, remove and append, and touch nothing else. */
import { describe, expect, it } from 'vitest'
import type { CompletionDraft, DocumentChange, Project } from '../../proto/index.ts'
import { applyChanges, NO_DOCUMENTS } from './views.ts'

const project = (id: string, name = id): Project => ({ id, name, slug: id, path: `/${id}`, status: 'open', openedAt: 1, openedBy: 'local:ada' })
const opened = (id: string, name = id): DocumentChange => ({ view: 'projects', key: id, document: project(id, name) })
const draft: CompletionDraft = { session: 's1', turn: 't1', reasoning: '', text: 'a', calls: [], retrying: { attempt: 2, at: 1, why: 'busy' } }

describe('changes of documents', () => {
  it('replace and remove documents', () => {
    const two = applyChanges(NO_DOCUMENTS, [opened('p1'), opened('p2')])
    const after = applyChanges(two, [opened('p1', 'new'), { view: 'projects', key: 'p2', document: null }])
    expect([...after.projects.values()]).toEqual([project('p1', 'new')])
    expect([...two.projects.keys()]).toEqual(['p1', 'p2'])
  })

  it('leave the other views as they are', () => {
    const after = applyChanges(NO_DOCUMENTS, [opened('p1')])
    expect(after.modes).toBe(NO_DOCUMENTS.modes)
    expect(applyChanges(after, [])).toBe(after)
  })

  it('of a view that is newer than this page are skipped', () => {
    expect(applyChanges(NO_DOCUMENTS, [{ view: 'undos', key: 'x', document: {} } as unknown as DocumentChange])).toBe(NO_DOCUMENTS)
  })

  it('append to a draft that is being streamed', () => {
    const before = applyChanges(NO_DOCUMENTS, [{ view: 'drafts', key: 's1', document: draft }])
    const append = [
      { kind: 'text', part: 0, text: 'b' },
      { kind: 'reasoning', part: 0, text: 'hm' },
      { kind: 'tool', part: 1, tool: 'fs.readFile', text: '{' },
      { kind: 'tool', part: 1, text: '}' },
    ] as const
    const after = applyChanges(before, [{ view: 'drafts', key: 's1', append }, { view: 'drafts', key: 'gone', append }])
    expect([...after.drafts.entries()]).toEqual([
      ['s1', { ...draft, text: 'ab', reasoning: 'hm', calls: [{ tool: '', arguments: '' }, { tool: 'fs.readFile', arguments: '{}' }], retrying: null }],
    ])
  })

  it('append to the output of a command, of which the end is kept', () => {
    const before = applyChanges(NO_DOCUMENTS, [{ view: 'outputs', key: 'a1', document: { action: 'a1', project: 'p1', text: 'a', omitted: 0 } }])
    const print = (text: string): DocumentChange => ({ view: 'outputs', key: 'a1', append: [{ kind: 'output', part: 0, text }] })
    expect(applyChanges(before, [print('b')]).outputs.get('a1')?.text).toBe('ab')
    const long = applyChanges(before, [print('x'.repeat(100_000)), print('end')]).outputs.get('a1')?.text ?? ''
    expect(long.length).toBeLessThan(70_000)
    expect(long.endsWith('xend')).toBe(true)
  })
})
