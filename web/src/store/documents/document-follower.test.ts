// @vitest-environment happy-dom
/** Followed documents: what is shown, and when it counts as current. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DocumentFollower } from './document-follower.svelte.ts'

const encoder = new TextEncoder()
const message = (type: string, data: object, id?: string): string => `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
const project = (id: string, name: string): object => ({ view: 'projects', key: id, seq: 1, document: { id, name } })
const live = (cursor: string): string => message('live', { cursor }, cursor)

function follow() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const paths: string[] = []
  const commands: string[] = []
  const replaced = vi.fn()
  const documents = new DocumentFollower(
    new URLSearchParams(),
    { applied: (_, ids) => commands.push(...ids), replaced },
    {
      now: Date.now,
      random: () => 1,
      fetch: (input) => {
        if (input === '/api/health') return Promise.resolve(new Response('{}'))
        paths.push(input as string)
        return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start: (it) => void (controller = it) })))
      },
    },
  )
  void documents.start()
  return {
    documents,
    paths,
    commands,
    replaced,
    names: () => [...documents.views.projects.values()].map(({ name }) => name),
    send: async (...texts: readonly string[]) => {
      // It connects asynchronously.
      await vi.advanceTimersByTimeAsync(0)
      controller?.enqueue(encoder.encode(texts.join('')))
      await vi.advanceTimersByTimeAsync(50)
    },
    cut: async () => {
      controller?.close()
      await vi.advanceTimersByTimeAsync(600)
    },
  }
}

describe('followed documents', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are loading until the snapshot is complete, and only then live', async () => {
    const it = follow()
    await it.send(message('snapshot', { documents: [project('p1', 'alpha')] }))
    expect([it.documents.loading, it.documents.connection.kind, it.names()]).toEqual([true, 'connecting', []])
    await it.send(live('1-a'))
    expect([it.documents.loading, it.documents.connection.kind, it.documents.ready, it.names()]).toEqual([false, 'live', true, ['alpha']])
    it.documents.stop()
  })

  it('change, and confirm commands once the changes are applied', async () => {
    const it = follow()
    await it.send(message('snapshot', { documents: [project('p1', 'alpha')] }), live('1-a'))
    await it.send(message('changes', { changes: [project('p1', 'beta')], commands: ['c1'] }, '2-b'), message('changes', { changes: [], commands: ['c2'] }, '3-c'))
    expect([it.names(), it.commands]).toEqual([['beta'], ['c1', 'c2']])
    it.documents.stop()
  })

  it('stay after the connection is lost, and are live again only when they are current', async () => {
    const it = follow()
    await it.send(message('snapshot', { documents: [project('p1', 'alpha')] }), live('1-a'))
    await it.cut()
    expect(it.paths).toEqual(['/api/documents', '/api/documents?after=1-a'])
    expect([it.documents.connection.kind, it.names()]).toEqual(['connecting', ['alpha']])
    await it.send(message('changes', { changes: [project('p2', 'gamma')], commands: [] }, '2-b'), live('2-b'))
    expect([it.documents.connection.kind, it.names()]).toEqual(['live', ['alpha', 'gamma']])
    it.documents.stop()
  })

  it('of another log replace the old ones, which are not live meanwhile', async () => {
    const it = follow()
    await it.send(message('snapshot', { documents: [project('p1', 'alpha'), project('p2', 'beta')] }), live('9-a'))
    await it.cut()
    await it.send(message('resync', {}), message('snapshot', { documents: [project('p1', 'older')] }))
    expect([it.documents.loading, it.documents.connection.kind]).toEqual([true, 'connecting'])
    await it.send(live('3-f'))
    expect([it.documents.ready, it.names()]).toEqual([true, ['older']])
    expect(it.replaced).toHaveBeenCalledTimes(2)
    it.documents.stop()
  })
})
