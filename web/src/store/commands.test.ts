/** Commands: pending until the log says so. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Commands } from './commands.svelte.ts'
import { opened, sample } from './sample.ts'

/** Answers every request like this, and tells the id of the last command. */
function daemon(status: number, body: unknown): () => string {
  let command = ''
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    command = new Headers(init.headers).get('idempotency-key') ?? ''
    return Promise.resolve(new Response(JSON.stringify(body), { status }))
  })
  return () => command
}

const soon = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 5))

describe('a command', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it('is pending after the daemon agreed, until the log confirms it', async () => {
    const id = daemon(201, { id: 'p1', slug: 'x' })
    const commands = new Commands(() => undefined)
    const outcome = commands.send({ kind: 'open', path: '/x' })
    await soon()
    expect(commands.pending).toMatchObject([{ id: id(), wish: { path: '/x' } }])
    commands.confirm([sample(1, opened('other'), { command: 'another' })])
    await soon()
    expect(commands.pending).toHaveLength(1)
    commands.confirm([sample(2, opened('p1'), { command: id() })])
    expect(await outcome).toMatchObject({ kind: 'done', event: { seq: 2 } })
    expect(commands.pending).toEqual([])
  })

  it('that was not needed is told apart', async () => {
    daemon(200, { id: 'p1', slug: 'x' })
    const outcome = await new Commands(() => undefined).send({ kind: 'open', path: '/x' })
    expect(outcome).toMatchObject({ kind: 'already', project: { slug: 'x' } })
  })

  it('that was refused gives the sentence of the daemon', async () => {
    daemon(404, { error: 'There is no folder there.', code: 'PATH_NOT_FOUND', status: 404 })
    const commands = new Commands(() => undefined)
    expect(await commands.send({ kind: 'open', path: '/x' })).toEqual({ kind: 'failed', reason: 'There is no folder there.', code: 'PATH_NOT_FOUND' })
    expect(commands.pending).toEqual([])
  })

  it('without a login tells so', async () => {
    daemon(401, {})
    const loggedOut = vi.fn()
    await new Commands(loggedOut).send({ kind: 'close', project: 'p1', name: 'x' })
    expect(loggedOut).toHaveBeenCalledOnce()
  })
})
