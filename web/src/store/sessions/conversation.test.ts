/** The conversation: items of pages in order, and the details of actions. */
import { describe, expect, it } from 'vitest'
import type { ActionView, SessionItem, SessionTurn } from '../../proto/index.ts'
import { actionDetails, conversationItems, endedTurns, firstItem } from './conversation.ts'

const item = (number: number, turn: string | null): SessionItem => ({ item: number, turn, at: number, content: { type: 'message', message: `m${String(number)}`, from: 'user', parts: [] } })
const page = (...items: readonly SessionItem[]) => ({ session: 's1', items: [...items] })
const numbers = (items: readonly SessionItem[]): readonly number[] => items.map((one) => one.item)

describe('a conversation', () => {
  it('is in the order of its turns, with queued messages at the end', () => {
    const pages = [page(item(2, 't2'), item(3, 't1')), page(item(0, 't1'), item(1, null))]
    expect(numbers(conversationItems(pages, []))).toEqual([0, 3, 2, 1])
  })

  it('has earlier items that were fetched, each once and as its document says', () => {
    const items = conversationItems([page(item(5, 't2'))], [item(3, 't1'), item(4, 't1'), item(5, null)])
    expect(numbers(items)).toEqual([3, 4, 5])
    expect(items.at(-1)?.turn).toBe('t2')
    expect(firstItem(items)).toBe(3)
    expect(firstItem([])).toBe(0)
  })

  it('has the turns that have ended, in order', () => {
    const turn = (id: string, session: string, status: SessionTurn['status']) => [id, { id, session, status }] as unknown as [string, SessionTurn]
    const turns = new Map([turn('t2', 's1', 'failed'), turn('t1', 's1', 'finished'), turn('t3', 's1', 'running'), turn('t0', 's2', 'finished')])
    expect(endedTurns(turns, 's1').map(({ id }) => id)).toEqual(['t1', 't2'])
  })

  it('shows what an action prints and what the sandbox did', () => {
    const action = { outcome: { summary: { noNetwork: true } } } as unknown as ActionView
    const details = actionDetails(action, { action: 'a1', project: 'p1', text: 'end', omitted: 7 })
    expect(details.output).toBe('… 7 bytes are not shown …\nend')
    expect(details.notes[0]).toContain('no network')
    expect(actionDetails(undefined, undefined)).toEqual({ output: '', notes: [] })
  })
})
