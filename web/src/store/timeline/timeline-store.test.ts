// @vitest-environment happy-dom
/** The timeline: pages of a long log, bounded, and new events at its end. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { opened, sampleEvent } from '../testing/samples.ts'
import { NO_FILTER } from './filter.ts'
import { TimelineStore } from './timeline-store.svelte.ts'

const encoder = new TextEncoder()
/** Waits until this does not fail any more. */
const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 5 })

/** The position before an event, as text. */
const previous = (event: string | null): string | null => (event === null ? null : String(Number(event) - 1))

/** A daemon with a log of this many events, of which every third one matches a filter. */
function daemon(length: number) {
  let head = length
  let isHidden = (seq: number): boolean => seq < 0
  const requests: string[] = []
  const followers = new Set<ReadableStreamDefaultController<Uint8Array>>()
  vi.stubGlobal('fetch', (path: string, init?: RequestInit) => {
    if (path === '/api/health') return Promise.resolve(new Response('{}'))
    const query = new URL(path, 'http://daemon').searchParams
    requests.push(path)
    if (new Headers(init?.headers).get('accept') === 'text/event-stream') {
      let own: ReadableStreamDefaultController<Uint8Array>
      init?.signal?.addEventListener('abort', () => followers.delete(own))
      return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start: (it) => void followers.add((own = it)) })))
    }
    const step = query.has('text') ? 3 : 1
    const limit = Number(query.get('limit'))
    const after = query.get('after') ?? previous(query.get('from'))
    const seqs: number[] = []
    if (after === null) for (let seq = Number(query.get('before') ?? head + 1) - 1; seq >= 1 && seqs.length < limit; seq--) seqs.push(...(seq % step === 0 ? [seq] : []))
    else for (let seq = (after === 'start' ? 0 : Number(after)) + 1; seq <= head && seqs.length < limit; seq++) seqs.push(...(seq % step === 0 ? [seq] : []))
    const next = seqs.length === limit ? seqs.at(-1) : null
    const shown = seqs.filter((seq) => !isHidden(seq))
    return Promise.resolve(new Response(JSON.stringify({ events: shown.map((seq) => sampleEvent(seq, opened('p1'))), next, head }), { status: 200 }))
  })
  const grow = (count: number): void => {
    for (let more = 0; more < count; more++) {
      const text = `id: ${String(++head)}\ndata: ${JSON.stringify(sampleEvent(head, opened('p1')))}\n\n`
      for (const follower of followers) follower.enqueue(encoder.encode(text))
    }
  }
  const hide = (test: (seq: number) => boolean): void => {
    isHidden = test
  }
  return { requests, grow, followers, hide }
}

const ends = ({ rows }: TimelineStore): readonly unknown[] => [rows.at(0)?.seq, rows.at(rows.length - 1)?.seq, rows.length]

describe('the timeline', () => {
  let timeline: TimelineStore
  beforeEach(() => {
    timeline = new TimelineStore(() => undefined)
    timeline.setFollowing(true)
  })
  afterEach(() => {
    timeline.setFollowing(false)
    vi.unstubAllGlobals()
  })

  it('shows the end of the log first, and follows it', async () => {
    const log = daemon(1_000_000)
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(ends(timeline)).toEqual([999_941, 1_000_000, 60]))
    await until(() => expect(log.followers.size).toBe(1))
    expect(timeline.rows).toMatchObject({ hasEarlier: true, hasLater: false })
    log.grow(3)
    await until(() => expect(ends(timeline)).toEqual([999_941, 1_000_003, 63]))
    expect(log.requests).toHaveLength(2)
  })

  it('moves over the log in both directions and holds a bounded part of it', async () => {
    daemon(10_000)
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(timeline.rows.length).toBe(60))
    for (let first = 9_941; first > 6_941; first -= 200) {
      timeline.setVisible(0, 30)
      await until(() => expect(timeline.rows.at(0)?.seq).toBe(first - 200))
    }
    expect(ends(timeline)).toEqual([6_941, 8_940, 2_000])
    expect(timeline.rows.hasLater).toBe(true)
    await until(() => {
      timeline.setVisible(timeline.rows.length - 30, timeline.rows.length)
      expect(timeline.rows.hasLater).toBe(false)
    })
    expect(ends(timeline)).toEqual([8_001, 10_000, 2_000])
  })

  it('keeps the rows that are being read when many events arrive', async () => {
    const log = daemon(5_000)
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(log.followers.size).toBe(1))
    timeline.setVisible(0, 30)
    await until(() => expect(timeline.rows.length).toBe(260))
    timeline.setVisible(100, 130)
    log.grow(1_950)
    await until(() => expect(timeline.rows.hasLater).toBe(true))
    expect(timeline.rows.at(100)?.seq).toBe(4_841)
    await timeline.showLatest()
    expect(ends(timeline)).toEqual([6_891, 6_950, 60])
  })

  it('reads as many pages as are needed, of the events that match', async () => {
    const log = daemon(1_000)
    timeline.select({ kind: 'project', id: 'p1' }, { ...NO_FILTER, text: 'x' }, null)
    await until(() => expect(ends(timeline)).toEqual([822, 999, 60]))
    expect(log.requests[0]).toBe('/api/events?text=x&project=p1&bodies=short&limit=60')
    timeline.select({ kind: 'none' }, NO_FILTER, null)
    expect([timeline.rows.length, log.followers.size]).toEqual([0, 0])
  })

  it('goes to an event that is far from the end, and to the beginning', async () => {
    daemon(10_000)
    timeline.select({ kind: 'all' }, NO_FILTER, '500')
    await until(() => expect(ends(timeline)).toEqual([440, 559, 120]))
    expect(timeline.find('500')?.seq).toBe(500)
    await timeline.showEarliest()
    expect(ends(timeline)).toEqual([1, 60, 60])
    expect(timeline.rows).toMatchObject({ hasEarlier: false, hasLater: true })
  })

  it('says that events are missing in a log that this login sees in parts', async () => {
    daemon(10)
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(ends(timeline)).toEqual([1, 10, 10]))
    expect(timeline.partial).toBe(false)
    const log = daemon(10)
    timeline.select({ kind: 'all' }, { ...NO_FILTER, text: 'x' }, null)
    await until(() => expect(ends(timeline)).toEqual([3, 9, 3]))
    expect(timeline.partial).toBe(false)
    log.hide((seq) => seq === 5)
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(ends(timeline)).toEqual([1, 10, 9]))
    expect(timeline.partial).toBe(true)
  })

  it('shows one event by its number', async () => {
    daemon(1_000)
    timeline.select({ kind: 'all' }, { ...NO_FILTER, text: '#12' }, null)
    await until(() => expect(ends(timeline)).toEqual([12, 12, 1]))
  })

  it('says why events could not be loaded, and tries again', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify({ error: 'The filter is not valid.', code: 'INVALID_REQUEST', status: 400 }), { status: 400 })))
    timeline.select({ kind: 'all' }, NO_FILTER, null)
    await until(() => expect(timeline.state).toEqual({ kind: 'failed', reason: 'The filter is not valid.' }))
    daemon(10)
    timeline.retryNow()
    await until(() => expect(ends(timeline)).toEqual([1, 10, 10]))
  })
})
