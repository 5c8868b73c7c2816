/** Following events: each once, in order, from a cursor on. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Event, LogCursor } from '../../proto/index.ts'
import { EventStream } from './event-stream.ts'

const encoder = new TextEncoder()

function line(seq: number): string {
  const event = { seq, stream: 'sys', version: seq, id: `e${String(seq)}`, at: seq, principal: 'p', actor: 'cli', command: null, cause: null, kind: 'X', body: {}, prev: `h${String(seq - 1)}`, hash: `h${String(seq)}` }
  return `id: ${String(seq)}\ndata: ${JSON.stringify(event)}\n\n`
}

function follow(after: number, ...texts: readonly string[]) {
  const seen: unknown[] = []
  const paths: string[] = []
  const resync = vi.fn()
  const sink = {
    state: () => undefined,
    events: (events: readonly Event[]) => {
      seen.push(...events.map(({ seq }) => seq))
      return undefined
    },
    resync,
  }
  const stream = new EventStream(new URLSearchParams({ kind: 'X' }), after as unknown as LogCursor, sink, {
    now: Date.now,
    random: () => 1,
    fetch: (input) => {
      if (input === '/api/health') return Promise.resolve(new Response('{}'))
      paths.push(input as string)
      const text = texts[paths.length - 1]
      if (text === undefined) return Promise.reject(new TypeError('refused'))
      return Promise.resolve(new Response(new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(encoder.encode(text))
          controller.close()
        },
      })))
    },
  })
  stream.start()
  return { stream, seen, paths, resync }
}

describe('the event stream', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('resumes after the last event and delivers none twice', async () => {
    const it = follow(4, line(5) + line(6), line(6) + line(9))
    await vi.advanceTimersByTimeAsync(500)
    expect(it.seen).toEqual([5, 6, 9])
    expect(it.paths.slice(0, 2)).toEqual(['/api/events?kind=X&after=4', '/api/events?kind=X&after=6'])
    it.stream.stop()
  })

  it('ends when the log was replaced', async () => {
    const it = follow(4, `event: resync\ndata: {}\n\n${line(1)}`)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(it.seen).toEqual([])
    expect(it.paths).toHaveLength(1)
    expect(it.resync).toHaveBeenCalledOnce()
  })
})
