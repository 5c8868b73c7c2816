/** A reconnecting stream: it reports the true state of the connection. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ReconnectingStream, type ConnectionState } from './reconnecting-stream.ts'
import { sharedSlots, type StreamSlots } from './stream-slots.ts'

/** Answers the health check. */
let healthCheck: (signal?: AbortSignal) => Promise<Response>

type Responder = (after: string | null) => Response | Promise<Response>

function line(seq: number): string {
  return `id: ${String(seq)}\ndata: {"seq":${String(seq)}}\n\n`
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
  return connectWith(undefined, ...responders)
}

function connectWith(slots: StreamSlots | undefined, ...responders: readonly Responder[]) {
  const states: ConnectionState[] = []
  const seen: string[] = []
  const requested: (string | null)[] = []
  const refusals: string[] = []
  const stream = new ReconnectingStream(
    {
      path: () => `/api/stream?after=${seen.at(-1) ?? '0'}`,
      state: (state) => states.push(state),
      messages: (messages) => {
        for (const { id, data } of messages) {
          if (data === 'nonsense') throw new Error('received an invalid message')
          seen.push(id)
        }
        return undefined
      },
      refused: ({ code, status }) => {
        refusals.push(code)
        return status === 404
      },
    },
    {
      now: Date.now,
      random: () => 1,
      ...(slots === undefined ? {} : { slots }),
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
  return { stream, states, seen, requested, refusals, kinds: () => states.map(({ kind }) => kind) }
}

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('a reconnecting stream', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    healthCheck = () => Promise.resolve(new Response('{}'))
  })
  afterEach(() => void vi.useRealTimers())

  it('resumes where its source says', async () => {
    const first = open(line(1) + line(2))
    const second = open(line(3))
    const it = connect(() => first.response, () => second.response)
    await settle()
    first.end()
    await settle()
    expect(it.kinds()).toEqual(['connecting', 'live', 'lost'])
    await settle(500)
    expect(it.requested).toEqual(['0', '2'])
    expect(it.seen).toEqual(['1', '2', '3'])
    expect(it.kinds().slice(-2)).toEqual(['connecting', 'live'])
    it.stream.stop()
  })

  it('can be started again at once after it was stopped', async () => {
    const it = connect(() => open(line(1)).response, () => open(line(2)).response)
    await settle()
    it.stream.stop()
    void it.stream.start()
    await settle()
    expect(it.seen).toEqual(['1', '2'])
    expect(it.states.at(-1)?.kind).toBe('live')
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

  it('gives up when it is refused for good, and otherwise tries again', async () => {
    const refuse = (status: number, code: string): Response => new Response(JSON.stringify({ error: 'x', code, status }), { status })
    const it = connect(() => refuse(503, 'LOG_FULL'), () => refuse(404, 'NOT_FOUND'), () => open(line(1)).response)
    await settle(60_000)
    expect(it.refusals).toEqual(['LOG_FULL', 'NOT_FOUND'])
    expect(it.requested).toHaveLength(2)
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
    expect(it.states.at(-1)).toMatchObject({ kind: 'lost', reason: 'received an invalid message' })
    it.stream.stop()
  })
})

describe('a stream without a slot', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    healthCheck = () => Promise.resolve(new Response('{}'))
  })
  afterEach(() => void vi.useRealTimers())

  const live = (seq: number): string => `id: ${String(seq)}\nevent: live\ndata: {}\n\n`

  it('reads what is new, makes room for others, and stays live', async () => {
    const slots = { acquire: () => Promise.resolve(null) }
    const second = open(line(3) + live(3))
    const { stream, seen, requested, kinds } = connectWith(slots, () => open(line(1) + live(2)).response, () => second.response, () => open(live(3)).response)
    await settle()
    expect(requested).toEqual(['0'])
    await settle(1_500)
    expect([requested, seen]).toEqual([['0', '2'], ['1', '2', '3', '3']])
    await settle(1_500)
    expect(requested).toEqual(['0', '2', '3'])
    expect(kinds()).toEqual(['connecting', 'live'])
    // The daemon is gone: the next question notices it.
    await settle(1_500)
    expect(kinds()).toEqual(['connecting', 'live', 'lost'])
    stream.stop()
  })

  it('stays connected once there is one, and gives it back', async () => {
    const held: string[] = []
    const slot = { release: () => void held.pop() }
    let free = false
    const slots = {
      acquire: () => {
        if (free) held.push('slot')
        return Promise.resolve(free ? slot : null)
      },
    }
    const { stream, requested, kinds } = connectWith(slots, () => open(live(1)).response, () => open(live(1)).response, () => open(live(1)).response)
    await settle()
    free = true
    await settle(1_500)
    expect([requested.length, held.length]).toEqual([2, 1])
    await settle(20_000)
    expect([requested.length, held.length, kinds()]).toEqual([2, 1, ['connecting', 'live']])
    // The page was hidden: the slot is exchanged at once, and what is shown stays live.
    stream.exchangeSlot()
    await settle()
    expect([requested.length, held.length, kinds()]).toEqual([3, 1, ['connecting', 'live']])
    stream.stop()
    await settle()
    expect(held).toEqual([])
  })
})

describe('the slots of a browser', () => {
  afterEach(() => void vi.unstubAllGlobals())

  /** Locks as browsers have them, as far as slots need them. */
  function lockManager(): { readonly locks: LockManager; readonly names: Set<string> } {
    const names = new Set<string>()
    const request = async (name: string, _: object, use: (lock: { readonly name: string } | null) => unknown): Promise<unknown> => {
      if (names.has(name)) return use(null)
      names.add(name)
      return Promise.resolve(use({ name })).finally(() => names.delete(name))
    }
    return { locks: { request } as unknown as LockManager, names }
  }

  it('are few for all visible tabs, and one for those out of sight', async () => {
    const { locks, names } = lockManager()
    vi.stubGlobal('document', { hidden: false })
    const slots = sharedSlots(locks)
    const [first, second, third] = [await slots.acquire(), await slots.acquire(), await slots.acquire()]
    expect([first, second, third].every((slot) => slot !== null)).toBe(true)
    expect(await slots.acquire()).toBeNull()
    vi.stubGlobal('document', { hidden: true })
    expect(await slots.acquire()).not.toBeNull()
    expect(await slots.acquire()).toBeNull()
    expect(names.size).toBe(4)
    second?.release()
    await Promise.resolve()
    vi.stubGlobal('document', { hidden: false })
    await vi.waitFor(async () => expect(await slots.acquire()).not.toBeNull())
  })
})
