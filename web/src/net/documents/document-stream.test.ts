/** The stream of documents: snapshot, changes, resume with the cursor, and resync. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DocumentChange, ErrorResponse } from '../../proto/index.ts'
import { DocumentStream } from './document-stream.ts'

const encoder = new TextEncoder()

const mode = (key: string, seq: number): object => ({ view: 'modes', key, seq, document: { project: key } })
const message = (type: string, data: object, id?: string): string => `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
const live = (cursor: string): string => message('live', { cursor }, cursor)

/** Connects to responses with these texts; each stays open until it is cut. */
function connect(...texts: readonly string[]) {
  const log: string[] = []
  const paths: string[] = []
  const open: ReadableStreamDefaultController<Uint8Array>[] = []
  const keys = (list: readonly DocumentChange[]): string => list.map((change) => `${change.key}@${String((change as { readonly seq?: unknown }).seq)}`).join(' ')
  const stream = new DocumentStream(
    new URLSearchParams({ views: 'modes' }),
    {
      state: ({ kind }) => log.push(kind),
      snapshot: (documents) => log.push(`snapshot ${keys(documents)}`),
      changes: (changes, commands) => {
        log.push(`changes ${keys(changes)} ${commands.join(' ')}`.trim())
        return undefined
      },
      live: () => log.push('caught up'),
      resync: () => log.push('resync'),
      refused: ({ code }) => log.push(`refused ${code}`),
    },
    {
      now: Date.now,
      random: () => 1,
      fetch: (input) => {
        if (input === '/api/health') return Promise.resolve(new Response('{}'))
        paths.push(input as string)
        const text = texts[paths.length - 1]
        if (text === undefined) return Promise.reject(new TypeError('refused'))
        if (text.startsWith('{')) {
          const problem = JSON.parse(text) as ErrorResponse
          return Promise.resolve(new Response(text, { status: problem.status }))
        }
        return Promise.resolve(new Response(new ReadableStream<Uint8Array>({
          start: (controller) => {
            open.push(controller)
            controller.enqueue(encoder.encode(text))
          },
        })))
      },
    },
  )
  void stream.start()
  return { stream, log, paths, cut: () => open.at(-1)?.close(), send: (text: string) => open.at(-1)?.enqueue(encoder.encode(text)) }
}

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('the stream of documents', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('delivers a snapshot once it is complete, then changes', async () => {
    const it = connect(message('snapshot', { documents: [mode('p1', 3)] }) + message('snapshot', { documents: [mode('p2', 5)] }))
    await settle()
    expect(it.log).toEqual(['connecting', 'live'])
    it.send(live('7-aa-0') + message('changes', { changes: [mode('p1', 8)], commands: ['c1'] }, '8-bb-0'))
    await settle()
    expect(it.log.slice(2)).toEqual(['snapshot p1@3 p2@5', 'caught up', 'changes p1@8 c1'])
    expect(it.paths).toEqual(['/api/documents?views=modes'])
    it.stream.stop()
  })

  it('resumes with the last cursor, without a snapshot', async () => {
    const it = connect(message('snapshot', { documents: [] }) + live('7-aa-0') + message('changes', { changes: [], commands: [] }, '9-cc-0'), message('changes', { changes: [mode('p1', 12)], commands: [] }, '12-dd-0') + live('12-dd-0'))
    await settle()
    it.cut()
    await settle(500)
    expect(it.paths[1]).toBe('/api/documents?views=modes&after=9-cc-0')
    expect(it.log.slice(-4)).toEqual(['connecting', 'live', 'changes p1@12', 'caught up'])
    it.stream.stop()
  })

  it('adds to the snapshot what changed while it was read', async () => {
    const it = connect(message('snapshot', { documents: [mode('p1', 3)] }) + message('changes', { changes: [mode('p1', 8)], commands: ['c1'] }) + live('8-bb-0'))
    await settle()
    expect(it.log.slice(2)).toEqual(['snapshot p1@3 p1@8', 'changes  c1', 'caught up'])
    it.stream.stop()
  })

  it('keeps its cursor over a batch that has none', async () => {
    const it = connect(message('snapshot', { documents: [] }) + live('7-aa-0') + message('changes', { changes: [mode('p1', 8)], commands: [] }), live('8-bb-0'))
    await settle()
    it.cut()
    await settle(500)
    expect(it.paths[1]).toBe('/api/documents?views=modes&after=7-aa-0')
    it.stream.stop()
  })

  it('starts anew when the snapshot was cut off', async () => {
    const it = connect(message('snapshot', { documents: [mode('p1', 3)] }), message('snapshot', { documents: [mode('p2', 5)] }) + live('7-aa-0'))
    await settle()
    it.cut()
    await settle(500)
    expect(it.paths[1]).toBe('/api/documents?views=modes')
    expect(it.log.filter((entry) => entry.startsWith('snapshot'))).toEqual(['snapshot p2@5'])
    it.stream.stop()
  })

  it('gets a snapshot after a resync, and resumes from that', async () => {
    const it = connect(
      message('snapshot', { documents: [] }) + live('7-aa-0'),
      message('resync', {}) + message('snapshot', { documents: [mode('p1', 2)] }) + live('4-ee-0'),
      live('4-ee-0'),
    )
    await settle()
    it.cut()
    await settle(500)
    expect(it.log.slice(-4)).toEqual(['live', 'resync', 'snapshot p1@2', 'caught up'])
    it.cut()
    await settle(1_000)
    expect(it.paths.at(-1)).toBe('/api/documents?views=modes&after=4-ee-0')
    it.stream.stop()
  })

  it('reports a refusal, and retries after a failure of the daemon', async () => {
    const refuse = (status: number, code: string): string => JSON.stringify({ error: 'x', code, status })
    const it = connect(refuse(503, 'LOG_FULL'), refuse(404, 'SESSION_NOT_FOUND'))
    await settle(60_000)
    expect(it.log.at(-1)).toBe('refused SESSION_NOT_FOUND')
    expect(it.paths).toHaveLength(2)
  })

  it('reconnects when a message is invalid', async () => {
    const it = connect('event: snapshot\ndata: {"documents":7}\n\n', message('snapshot', { documents: [] }) + live('1-aa-0'))
    await settle(500)
    expect(it.log).toEqual(['connecting', 'live', 'lost', 'connecting', 'live', 'snapshot', 'caught up'].map((entry) => (entry === 'snapshot' ? 'snapshot ' : entry)))
    it.stream.stop()
  })
})
