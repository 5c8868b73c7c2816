/** Requests: every outcome has its own kind. */
import { describe, expect, it } from 'vitest'
import { newCommandId, sendRequest } from './request.ts'

const request = { method: 'POST', path: '/api/projects', body: { path: '/x' }, command: 'c1' } as const
const respond = (status: number, body: string) => () => Promise.resolve(new Response(body, { status }))

describe('a request', () => {
  it('sends JSON and its idempotency key', async () => {
    let headers = new Headers()
    await sendRequest(request, (_, init) => {
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
  ])('with status %i and body %s gets the right kind', async (status, body, expected) => {
    expect(await sendRequest(request, respond(status, body))).toMatchObject(expected)
  })

  it('does not throw when there is no response', async () => {
    const refused = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'))
    expect(await sendRequest(request, refused)).toEqual({ kind: 'unreachable', reason: 'the connection failed' })
  })

  it('gets a new version 4 UUID as its key', () => {
    expect(newCommandId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(newCommandId()).not.toBe(newCommandId())
  })
})
