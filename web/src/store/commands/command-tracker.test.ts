/** CommandTracker: pending until the log confirms them. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Fact } from '../../proto/index.ts'
import { CommandTracker, pendingRuntimeCommand } from './command-tracker.svelte.ts'
import { opened, sampleEvent, truncated } from '../testing/sample-events.ts'

/** Responds to every request with this; returns a function that gives the last command id. */
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

  it('is pending after the daemon accepted it, until the log confirms it', async () => {
    const id = daemon(201, { id: 'p1', slug: 'x' })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'openProject', path: '/x' })
    await soon()
    expect(commands.pending).toMatchObject([{ id: id(), command: { path: '/x' } }])
    commands.confirm([sampleEvent(1, opened('other'), { command: 'another' })])
    await soon()
    expect(commands.pending).toHaveLength(1)
    commands.confirm([sampleEvent(2, opened('p1'), { command: id() })])
    expect(await outcome).toMatchObject({ kind: 'done', event: { seq: 2 } })
    expect(commands.pending).toEqual([])
  })

  it('for a project that is already open is reported as such', async () => {
    daemon(200, { id: 'p1', slug: 'x' })
    const outcome = await new CommandTracker(() => undefined).send({ kind: 'openProject', path: '/x' })
    expect(outcome).toMatchObject({ kind: 'alreadyOpen', project: { slug: 'x' } })
  })

  it('that was refused fails with the daemon’s message', async () => {
    daemon(404, { error: 'There is no folder there.', code: 'PATH_NOT_FOUND', status: 404 })
    const commands = new CommandTracker(() => undefined)
    expect(await commands.send({ kind: 'openProject', path: '/x' })).toEqual({ kind: 'failed', reason: 'There is no folder there.', code: 'PATH_NOT_FOUND' })
    expect(commands.pending).toEqual([])
  })

  it('without a login reports that', async () => {
    daemon(401, {})
    const loggedOut = vi.fn()
    await new CommandTracker(loggedOut).send({ kind: 'closeProject', project: 'p1', name: 'x' })
    expect(loggedOut).toHaveBeenCalledOnce()
  })

  const ended = (fault: object | null): Fact =>
    ({ kind: 'ACTION_FINISHED', body: { action: 'a1', project: 'p1', report: null, outcome: { exitCode: null, signal: null, durationMs: 1, fault, summary: {} } } }) as Fact
  const requested: Fact = { kind: 'ACTION_REQUESTED', body: { action: 'a1', project: 'p1', name: 'runtime.run', params: {}, what: 'run', actionHash: 'h' } }

  it.each([
    [null, { kind: 'done' }],
    [{ code: 'NOTHING_TO_RUN', message: 'Nothing to run.', details: null }, { kind: 'failed', reason: 'Nothing to run.', code: 'NOTHING_TO_RUN' }],
  ])('that starts an action is pending until the action ends: %j', async (fault, expected) => {
    const id = daemon(202, { actionId: 'a1', status: 'running' })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'runtime', project: 'p1', command: 'run' })
    await soon()
    commands.confirm([sampleEvent(1, requested, { command: id() }), sampleEvent(2, { ...ended(null), body: { ...ended(null).body, action: 'another' } } as Fact)])
    await soon()
    expect(pendingRuntimeCommand(commands.pending, 'p1')).toBe('run')
    commands.confirm([sampleEvent(3, ended(fault))])
    expect(await outcome).toMatchObject(expected)
    expect(commands.pending).toEqual([])
  })

  it('whose action ends with a truncated event is fetched', async () => {
    let over = false
    vi.stubGlobal('fetch', (path: string) => {
      const action = { id: 'a1', status: over ? 'finished' : 'running', outcome: over ? { fault: { code: 'BUILD_FAILED', message: 'No.' } } : null }
      return Promise.resolve(new Response(JSON.stringify(path.startsWith('/api/actions/') ? action : { actionId: 'a1' }), { status: 200 }))
    })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'runtime', project: 'p1', command: 'build' })
    await soon()
    expect(commands.pending).toHaveLength(1)
    over = true
    commands.confirm([sampleEvent(1, truncated(ended(null)))])
    expect(await outcome).toEqual({ kind: 'failed', reason: 'No.', code: 'BUILD_FAILED' })
  })
})
