/** The chain: nothing twice, nothing missing, nothing rewritten. */
import { describe, expect, it } from 'vitest'
import type { Event } from '../../proto/index.ts'
import { Cursor, type Step } from './log-cursor.ts'

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

const seqs = (step: Step): readonly number[] | string =>
  step.kind === 'append' ? step.events.map(({ seq }) => seq) : `broken at ${String(step.seq)}`

describe('the cursor', () => {
  it('drops what it has read already', () => {
    const cursor = new Cursor()
    expect(seqs(cursor.take([event(1), event(2)]))).toEqual([1, 2])
    expect(seqs(cursor.take([event(1), event(2), event(3)]))).toEqual([3])
    expect(cursor.seq).toBe(3)
  })

  it('sees a hole', () => {
    const cursor = new Cursor()
    cursor.take([event(1)])
    expect(seqs(cursor.take([event(3)]))).toBe('broken at 3')
  })

  it('sees that the log was replaced while we were away', () => {
    const cursor = new Cursor()
    cursor.take([event(1), event(2)])
    expect(seqs(cursor.take([event(3, 'another')]))).toBe('broken at 3')
  })

  it('reads on after a refold that has no hole', () => {
    const cursor = new Cursor()
    cursor.take([event(1)])
    cursor.take([event(3)])
    cursor.reset()
    expect(seqs(cursor.take([event(1), event(2), event(3)]))).toEqual([1, 2, 3])
    expect(cursor.partial).toBe(false)
  })

  it('takes the same hole twice for a login that sees only a part', () => {
    const cursor = new Cursor()
    cursor.take([event(1), event(3)])
    cursor.reset()
    expect(seqs(cursor.take([event(1), event(3), event(7)]))).toEqual([1, 3, 7])
    expect(cursor.partial).toBe(true)
  })
})
