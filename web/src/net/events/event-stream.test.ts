/** The follower: what it says of the connection is what is so. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Follower, type Connection } from './event-stream.ts'

/** Whether the daemon says that it is well. */
let probe: (signal?: AbortSignal) => Promise<Response>

type Answerer = (after: string | null) => Response | Promise<Response>

function line(seq: number): string {
  const event = { seq, stream: 'sys', version: seq, id: `e${String(seq)}`, at: seq, principal: 'p', actor: 'cli', command: null, cause: null, kind: 'X', body: {}, prev: `h${String(seq - 1)}`, hash: `h${String(seq)}` }
  return `id: ${String(seq)}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A stream that stays open after its text until the test ends it. */
function open(text: string): { readonly response: Response; readonly say: (text: string) => void; readonly end: () => void } {
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
    say: (more) => controller.enqueue(encoder.encode(more)),
    end: () => controller.close(),
  }
}

function follow(...answers: readonly Answerer[]) {
  const states: Connection[] = []
  const seen: number[] = []
  const asked: (string | null)[] = []
  let resets = 0
  const follower = new Follower(
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
        if (input === '/api/health') return await probe(init?.signal ?? undefined)
        const after = new URL(input as string, 'http://daemon').searchParams.get('after')
        asked.push(after)
        const answer = answers[asked.length - 1]
        if (answer === undefined) throw new TypeError('refused')
        const { status, body } = await answer(after)
        // As a browser does it: an aborted request is an error for whoever reads.
        const signal = init?.signal ?? new AbortController().signal
        return new Response(body?.pipeThrough(new TransformStream(), { signal }) ?? null, { status })
      },
    },
  )
  void follower.start()
  return { follower, states, seen, asked, resets: () => resets, kinds: () => states.map(({ kind }) => kind) }
}

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('the follower', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    probe = () => Promise.resolve(new Response('{}'))
  })
  afterEach(() => void vi.useRealTimers())

  it('comes back after the last event and takes none twice', async () => {
    const first = open(line(1) + line(2))
    const second = open(line(2) + line(3))
    const it = follow(() => first.response, () => second.response)
    await settle()
    first.end()
    await settle()
    expect(it.kinds()).toEqual(['connecting', 'live', 'lost'])
    await settle(500)
    expect(it.asked).toEqual(['0', '2'])
    expect(it.seen).toEqual([1, 2, 3])
    expect(it.kinds().slice(-2)).toEqual(['connecting', 'live'])
    it.follower.stop()
  })

  it('says when it has read all that was, after handing it on', async () => {
    const stream = open(line(1) + line(2) + 'event: live\ndata: {}\n\n' + line(3))
    const it = follow(() => stream.response)
    await settle()
    expect(it.seen).toEqual([1, 2, 3, 0])
    it.follower.stop()
  })

  it('waits longer each time, and not at all when asked', async () => {
    const it = follow()
    await settle()
    const waits: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      const last = it.states.at(-1)
      if (last?.kind === 'lost') waits.push(last.retryAt - Date.now())
      it.follower.retryNow()
      await settle()
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 10_000])
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'nothing answers at its address' })
    it.follower.stop()
  })

  it('keeps the moment of the loss over many attempts', async () => {
    const it = follow()
    await settle()
    const since = it.states.flatMap((state) => (state.kind === 'lost' ? [state.since] : []))[0]
    await settle(60_000)
    expect(it.states.at(-1)).toMatchObject(it.states.at(-1)?.kind === 'lost' ? { since } : { lostSince: since })
    it.follower.stop()
  })

  it('finds within 10 s that a daemon does not answer any more, and lets one be that does', async () => {
    const stream = open(line(1))
    const it = follow(() => stream.response)
    await settle(20_000)
    expect(it.kinds()).toEqual(['connecting', 'live'])
    // Stopped in its tracks: connections stay open, and nothing comes.
    probe = (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    await settle(10_000)
    expect(it.states[2]).toMatchObject({ kind: 'lost', reason: 'it does not answer' })
    it.follower.stop()
  })

  it('takes 40 s of silence for a loss, and a ping for life', async () => {
    const stream = open(line(1))
    const it = follow(() => stream.response)
    await settle(39_000)
    stream.say(': ping\n\n')
    await settle(39_000)
    expect(it.states.at(-1)?.kind).toBe('live')
    await settle(1_000)
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'it has been silent for 40 s' })
    it.follower.stop()
  })

  it('begins anew on resync', async () => {
    const first = open(line(1) + 'event: resync\ndata: {}\n\n')
    const second = open(line(1) + line(2))
    const it = follow(() => first.response, () => second.response)
    await settle(1)
    expect(it.asked).toEqual(['0', '0'])
    expect(it.resets()).toBe(1)
    expect(it.seen).toEqual([1, 2])
    it.follower.stop()
  })

  it('begins anew when an event is missing', async () => {
    const first = open(line(1) + line(3))
    const second = open(line(1) + line(2) + line(3))
    const it = follow(() => first.response, () => second.response)
    await settle(1)
    expect(it.seen).toEqual([1, 2, 3])
    it.follower.stop()
  })

  it('does not hurry when resync follows resync', async () => {
    const again: Answerer = () => open('event: resync\ndata: {}\n\n').response
    const it = follow(again, again, again, again, again, again, again, again)
    await settle(1_000)
    expect(it.asked.length).toBeLessThanOrEqual(3)
    it.follower.stop()
  })

  it('stops at 401 and can start again', async () => {
    const it = follow(() => new Response('{}', { status: 401 }), () => open(line(1)).response)
    await settle(60_000)
    expect(it.kinds()).toEqual(['connecting', 'loggedOut'])
    void it.follower.start()
    await settle()
    expect(it.states.at(-1)?.kind).toBe('live')
    it.follower.stop()
  })

  it('says what is wrong with an answer that is no log', async () => {
    const it = follow(() => new Response('', { status: 503 }), () => open('data: nonsense\n\n').response)
    await settle()
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'it answered 503' })
    await settle(500)
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'it sent something that is not an event' })
    it.follower.stop()
  })
})
