/** Requests: each answer is told apart from the others. */
import { describe, expect, it } from 'vitest'
import { ask, commandId } from './request.ts'

const what = { method: 'POST', path: '/api/projects', body: { path: '/x' }, command: 'c1' } as const
const answer = (status: number, body: string) => () => Promise.resolve(new Response(body, { status }))

describe('a request', () => {
  it('sends JSON and its idempotency key', async () => {
    let headers = new Headers()
    await ask(what, (_, init) => {
      headers = new Headers(init?.headers)
      return Promise.resolve(new Response('{}'))
    })
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('idempotency-key')).toBe('c1')
  })

  it.each([
    [201, '{"id":"p"}', { kind: 'ok', status: 201 }],
    [401, '{}', { kind: 'loggedOut' }],
    [404, '{"error":"No such folder.","code":"PATH_NOT_FOUND","status":404}', { kind: 'refused', problem: { error: 'No such folder.' } }],
    [502, '{}', { kind: 'unreachable' }],
    [200, 'not json', { kind: 'unreachable' }],
  ])('with status %i and body %s is understood', async (status, body, expected) => {
    expect(await ask(what, answer(status, body))).toMatchObject(expected)
  })

  it('without an answer does not throw', async () => {
    const refused = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'))
    expect(await ask(what, refused)).toEqual({ kind: 'unreachable', reason: 'nothing answers at its address' })
  })

  it('gets a key that is a version 4 UUID, new each time', () => {
    expect(commandId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(commandId()).not.toBe(commandId())
  })
})
