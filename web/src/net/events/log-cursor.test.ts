/** The hash chain: no event twice, none missing, none rewritten. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { LogCursor, type CursorResult } from './log-cursor.ts'

function event(seq: number, prev = `h${String(seq - 1)}`): Event {
  return {
    seq,
    stream: 'sys',
    version: seq,
    id: `e${String(seq)}`,
    at: seq,
    principal: 'local:ada',
    actor: 'daemon',
    command: null,
    cause: null,
    kind: 'DAEMON_STOPPED',
    body: { reason: '' },
    prev,
    hash: `h${String(seq)}`,
  }
}

const seqs = (result: CursorResult): readonly number[] | string =>
  result.kind === 'append' ? result.events.map(({ seq }) => seq) : `broken at ${String(result.seq)}`

describe('the cursor', () => {
  it('drops events that it has already read', () => {
    const cursor = new LogCursor()
    expect(seqs(cursor.advance([event(1), event(2)]))).toEqual([1, 2])
    expect(seqs(cursor.advance([event(1), event(2), event(3)]))).toEqual([3])
    expect(cursor.after).toBe('3')
  })

  it('detects a gap', () => {
    const cursor = new LogCursor()
    cursor.advance([event(1)])
    expect(seqs(cursor.advance([event(3)]))).toBe('broken at 3')
  })

  it('detects that the log was replaced while disconnected', () => {
    const cursor = new LogCursor()
    cursor.advance([event(1), event(2)])
    expect(seqs(cursor.advance([event(3, 'another')]))).toBe('broken at 3')
  })

  it('continues after a reload without a gap', () => {
    const cursor = new LogCursor()
    cursor.advance([event(1)])
    cursor.advance([event(3)])
    cursor.reset()
    expect(seqs(cursor.advance([event(1), event(2), event(3)]))).toEqual([1, 2, 3])
    expect(cursor.partial).toBe(false)
  })

  it('treats the same gap after a reload as a login with a partial view', () => {
    const cursor = new LogCursor()
    cursor.advance([event(1), event(3)])
    cursor.reset()
    expect(seqs(cursor.advance([event(1), event(3), event(7)]))).toEqual([1, 3, 7])
    expect(cursor.partial).toBe(true)
  })
})
