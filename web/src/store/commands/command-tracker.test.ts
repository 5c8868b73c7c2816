/** CommandTracker: pending until the log confirms them. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { DocumentChange } from '../../proto/index.ts'
import { CommandTracker, pendingRuntimeCommand } from './command-tracker.svelte.ts'

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
    commands.confirm(['another'], [])
    await soon()
    expect(commands.pending).toHaveLength(1)
    commands.confirm([id()], [])
    expect(await outcome).toEqual({ kind: 'done', response: { id: 'p1', slug: 'x' } })
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

  it('that the daemon accepted is done once a snapshot includes it', async () => {
    daemon(201, { id: 'p1' })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'openProject', path: '/x' })
    commands.confirmAccepted()
    await soon()
    expect(commands.pending).toHaveLength(1)
    commands.confirmAccepted()
    expect((await outcome).kind).toBe('done')
  })

  it('whose response was lost is done if the log has it', async () => {
    let lose: () => void = () => undefined
    let command = ''
    vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
      command = new Headers(init.headers).get('idempotency-key') ?? ''
      return new Promise((_resolve, reject) => (lose = () => reject(new TypeError('lost'))))
    })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'sendMessage', session: 's1', text: 'x' })
    await soon()
    commands.confirm([command], [])
    lose()
    expect(await outcome).toEqual({ kind: 'done', response: null })
  })

  const changed = (key: string): DocumentChange => ({ view: 'actions', key, document: null })

  it.each([
    [{ status: 'finished', outcome: { fault: null } }, { kind: 'done' }],
    [{ status: 'finished', outcome: { fault: { code: 'NOTHING_TO_RUN', message: 'Nothing to run.' } } }, { kind: 'failed', reason: 'Nothing to run.', code: 'NOTHING_TO_RUN' }],
    [{ status: 'denied', what: 'run it', outcome: null }, { kind: 'failed', reason: 'It was denied to run it; the timeline says why.', code: null }],
  ])('that starts an action is pending until the action ends: %j', async (end, expected) => {
    let action: object = { status: 'running', outcome: null }
    let command = ''
    vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
      command = new Headers(init.headers).get('idempotency-key') ?? command
      return Promise.resolve(new Response(JSON.stringify(path.startsWith('/api/actions/') ? action : { actionId: 'a1' }), { status: 200 }))
    })
    const commands = new CommandTracker(() => undefined)
    const outcome = commands.send({ kind: 'runtime', project: 'p1', command: 'run' })
    await soon()
    commands.confirm([command], [changed('another'), changed('a1')])
    await soon()
    expect(pendingRuntimeCommand(commands.pending, 'p1')).toBe('run')
    action = end
    commands.confirm([], [changed('a1')])
    expect(await outcome).toMatchObject(expected)
    expect(commands.pending).toEqual([])
  })
})
