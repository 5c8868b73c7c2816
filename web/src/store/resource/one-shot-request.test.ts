/** OneShotRequest: one request at a time, and what each outcome leaves behind. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { OneShotRequest, type RequestState } from './one-shot-request.svelte.ts'

const REQUEST = { method: 'GET', path: '/api/audit/verify' } as const

describe('a one-shot request', () => {
  afterEach(() => void vi.unstubAllGlobals())

  const outcomes: [string, () => Promise<Response>, RequestState<unknown>, number][] = [
    ['a response', () => Promise.resolve(Response.json({ events: 3 })), { kind: 'loaded', value: { events: 3 } }, 0],
    [
      'a refusal',
      () => Promise.resolve(Response.json({ error: 'No role has this name.', code: 'NOT_FOUND', status: 404 }, { status: 404 })),
      { kind: 'failed', reason: 'No role has this name.' },
      0,
    ],
    [
      'no response',
      () => Promise.reject(new DOMException('', 'TimeoutError')),
      { kind: 'failed', reason: 'The daemon did not respond: the request timed out.' },
      0,
    ],
    ['an ended login', () => Promise.resolve(Response.json({}, { status: 401 })), { kind: 'none' }, 1],
  ]
  it.each(outcomes)('keeps what came of %s until it is cleared', async (_, respond, expected, logouts) => {
    vi.stubGlobal('fetch', respond)
    let loggedOut = 0
    const request = new OneShotRequest(() => void loggedOut++)
    await request.send(REQUEST)
    expect(request.state).toEqual(expected)
    expect(loggedOut).toBe(logouts)
    request.clear()
    expect(request.state).toEqual({ kind: 'none' })
  })

  it('is neither sent twice nor cleared while it waits', async () => {
    const answers: ((response: Response) => void)[] = []
    vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => answers.push(resolve)))
    const request = new OneShotRequest<{ n: number }>(() => undefined)
    const first = request.send(REQUEST)
    await request.send(REQUEST)
    request.clear()
    expect(request.state).toEqual({ kind: 'loading' })
    expect(answers).toHaveLength(1)
    answers[0]?.(Response.json({ n: 1 }))
    await first
    expect(request.state).toEqual({ kind: 'loaded', value: { n: 1 } })
  })
})
