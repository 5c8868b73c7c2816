/** The event stream: it reports the true state of the connection. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventStream, type ConnectionState } from './event-stream.ts'

/** Answers the health check. */
let healthCheck: (signal?: AbortSignal) => Promise<Response>

type Responder = (after: string | null) => Response | Promise<Response>

function line(seq: number): string {
  const event = { seq, stream: 'sys', version: seq, id: `e${String(seq)}`, at: seq, principal: 'p', actor: 'cli', command: null, cause: null, kind: 'X', body: {}, prev: `h${String(seq - 1)}`, hash: `h${String(seq)}` }
  return `id: ${String(seq)}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A response that stays open after its text until the test ends it. */
function open(text: string): { readonly response: Response; readonly send: (text: string) => void; readonly end: () => void } {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start: (it) => {
      controller = it
      if (text !== '') it.enqueue(encoder.encode(text))
    },
  })
  return {
    response: new Response(body, { status: 200 }),
    send: (more) => controller.enqueue(encoder.encode(more)),
    end: () => controller.close(),
  }
}

function connect(...responders: readonly Responder[]) {
  const states: ConnectionState[] = []
  const seen: number[] = []
  const requested: (string | null)[] = []
  let resets = 0
  const stream = new EventStream(
    {
      state: (state) => states.push(state),
      events: (events) => {
        seen.push(...events.map(({ seq }) => seq))
        return undefined
      },
      reset: () => {
        resets++
        seen.length = 0
      },
      partial: () => undefined,
      caughtUp: () => seen.push(0),
    },
    {
      now: Date.now,
      random: () => 1,
      fetch: async (input, init) => {
        if (input === '/api/health') return await healthCheck(init?.signal ?? undefined)
        const after = new URL(input as string, 'http://daemon').searchParams.get('after')
        requested.push(after)
        const responder = responders[requested.length - 1]
        if (responder === undefined) throw new TypeError('refused')
        const { status, body } = await responder(after)
        // As in a browser: aborting a request makes its reader fail.
        const signal = init?.signal ?? new AbortController().signal
        return new Response(body?.pipeThrough(new TransformStream(), { signal }) ?? null, { status })
      },
    },
  )
  void stream.start()
  return { stream, states, seen, requested, resets: () => resets, kinds: () => states.map(({ kind }) => kind) }
}

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('the event stream', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    healthCheck = () => Promise.resolve(new Response('{}'))
  })
  afterEach(() => void vi.useRealTimers())

  it('resumes after the last event and delivers none twice', async () => {
    const first = open(line(1) + line(2))
    const second = open(line(2) + line(3))
    const it = connect(() => first.response, () => second.response)
    await settle()
    first.end()
    await settle()
    expect(it.kinds()).toEqual(['connecting', 'live', 'lost'])
    await settle(500)
    expect(it.requested).toEqual(['0', '2'])
    expect(it.seen).toEqual([1, 2, 3])
    expect(it.kinds().slice(-2)).toEqual(['connecting', 'live'])
    it.stream.stop()
  })

  it('reports that it has caught up, after it delivered the events', async () => {
    const stream = open(line(1) + line(2) + 'event: live\ndata: {}\n\n' + line(3))
    const it = connect(() => stream.response)
    await settle()
    expect(it.seen).toEqual([1, 2, 3, 0])
    it.stream.stop()
  })

  it('backs off, and retries at once when asked', async () => {
    const it = connect()
    await settle()
    const waits: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      const last = it.states.at(-1)
      if (last?.kind === 'lost') waits.push(last.retryAt - Date.now())
      it.stream.retryNow()
      await settle()
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 10_000])
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'the connection failed' })
    it.stream.stop()
  })

  it('keeps the time of the loss over many attempts', async () => {
    const it = connect()
    await settle()
    const since = it.states.flatMap((state) => (state.kind === 'lost' ? [state.since] : []))[0]
    await settle(60_000)
    expect(it.states.at(-1)).toMatchObject(it.states.at(-1)?.kind === 'lost' ? { since } : { lostSince: since })
    it.stream.stop()
  })

  it('detects within 10 s that a daemon has stopped responding, and keeps one that responds', async () => {
    const stream = open(line(1))
    const it = connect(() => stream.response)
    await settle(20_000)
    expect(it.kinds()).toEqual(['connecting', 'live'])
    // A stopped process: connections stay open, and nothing arrives.
    healthCheck = (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    await settle(10_000)
    expect(it.states[2]).toMatchObject({ kind: 'lost', reason: 'the daemon does not respond' })
    it.stream.stop()
  })

  it('treats 40 s without data as lost, and a ping as data', async () => {
    const stream = open(line(1))
    const it = connect(() => stream.response)
    await settle(39_000)
    stream.send(': ping\n\n')
    await settle(39_000)
    expect(it.states.at(-1)?.kind).toBe('live')
    await settle(1_000)
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'no data was received for 40 s' })
    it.stream.stop()
  })

  it('reloads the log on resync', async () => {
    const first = open(line(1) + 'event: resync\ndata: {}\n\n')
    const second = open(line(1) + line(2))
    const it = connect(() => first.response, () => second.response)
    await settle(1)
    expect(it.requested).toEqual(['0', '0'])
    expect(it.resets()).toBe(1)
    expect(it.seen).toEqual([1, 2])
    it.stream.stop()
  })

  it('reloads the log when an event is missing', async () => {
    const first = open(line(1) + line(3))
    const second = open(line(1) + line(2) + line(3))
    const it = connect(() => first.response, () => second.response)
    await settle(1)
    expect(it.seen).toEqual([1, 2, 3])
    it.stream.stop()
  })

  it('backs off when one resync follows another', async () => {
    const again: Responder = () => open('event: resync\ndata: {}\n\n').response
    const it = connect(again, again, again, again, again, again, again, again)
    await settle(1_000)
    expect(it.requested.length).toBeLessThanOrEqual(3)
    it.stream.stop()
  })

  it('stops at 401 and can be started again', async () => {
    const it = connect(() => new Response('{}', { status: 401 }), () => open(line(1)).response)
    await settle(60_000)
    expect(it.kinds()).toEqual(['connecting', 'loggedOut'])
    void it.stream.start()
    await settle()
    expect(it.states.at(-1)?.kind).toBe('live')
    it.stream.stop()
  })

  it('reports what is wrong with an invalid response', async () => {
    const it = connect(() => new Response('', { status: 503 }), () => open('data: nonsense\n\n').response)
    await settle()
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'the server responded with status 503' })
    await settle(500)
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'received an invalid event' })
    it.stream.stop()
  })
})
