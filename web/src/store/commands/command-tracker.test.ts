/** Commands: pending until the log says so. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Fact } from '../../proto/index.ts'
import { Commands, deedOf } from './command-tracker.svelte.ts'
import { opened, sample, sealed } from '../testing/sample-events.ts'

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

  const ended = (fault: object | null): Fact =>
    ({ kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: null, outcome: { exitCode: null, signal: null, durationMs: 1, fault, summary: {} } } }) as Fact
  const requested: Fact = { kind: 'ACTION_REQUESTED', body: { action: 'a1', project: 'p1', name: 'runtime.run', params: {}, what: 'run', actionHash: 'h' } }

  it.each([
    [null, { kind: 'done' }],
    [{ code: 'NOTHING_TO_RUN', message: 'Nothing to run.', details: null }, { kind: 'failed', reason: 'Nothing to run.', code: 'NOTHING_TO_RUN' }],
  ])('that is an action is pending until its end is in the log: %j', async (fault, expected) => {
    const id = daemon(202, { actionId: 'a1', status: 'running' })
    const commands = new Commands(() => undefined)
    const outcome = commands.send({ kind: 'runtime', project: 'p1', deed: 'run' })
    await soon()
    commands.confirm([sample(1, requested, { command: id() }), sample(2, { ...ended(null), body: { ...ended(null).body, action: 'another' } } as Fact)])
    await soon()
    expect(deedOf(commands.pending, 'p1')).toBe('run')
    commands.confirm([sample(3, ended(fault))])
    expect(await outcome).toMatchObject(expected)
    expect(commands.pending).toEqual([])
  })

  it('that is an action whose end is kept beside the log is looked up', async () => {
    let over = false
    vi.stubGlobal('fetch', (path: string) => {
      const action = { id: 'a1', status: over ? 'finished' : 'running', outcome: over ? { fault: { code: 'BUILD_FAILED', message: 'No.' } } : null }
      return Promise.resolve(new Response(JSON.stringify(path.startsWith('/api/actions/') ? action : { actionId: 'a1' }), { status: 200 }))
    })
    const commands = new Commands(() => undefined)
    const outcome = commands.send({ kind: 'runtime', project: 'p1', deed: 'build' })
    await soon()
    expect(commands.pending).toHaveLength(1)
    over = true
    commands.confirm([sample(1, sealed(ended(null)))])
    expect(await outcome).toEqual({ kind: 'failed', reason: 'No.', code: 'BUILD_FAILED' })
  })
})
