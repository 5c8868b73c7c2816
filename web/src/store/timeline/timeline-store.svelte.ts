/**
 * The timeline: a window of the log that is read in pages and moves with the scrolling.
 *
 * The daemon filters. While the window reaches the end of the log, new events are
 * followed; otherwise later pages are read when they are scrolled to.
 */
import { eventNumber, formatCursor, type Event, type EventsPage, type LogCursor } from '../../proto/index.ts'
import { EventStream, sendRequest } from '../../net/index.ts'
import { nextFrame } from '../documents/next-frame.ts'
import { latestValue, Resource } from '../resource/resource.svelte.ts'
import { EventWindow, type PageStart, type TimelineRows, type WindowEdges } from './event-window.ts'
import { eventQuery, isEmptyFilter, NO_FILTER, requestedNumber, type EventFilter, type EventScope } from './filter.ts'

/** The loading state of the rows. */
export type TimelineState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded' }
  | { readonly kind: 'failed'; readonly reason: string }

/** How many events a page has. */
const PAGE_SIZE = 200
/** How many rows are loaded at first, if there are as many: more than fit on a screen. A page may have fewer than it could. */
const FIRST_ROWS = 60
/** How many rows before an edge of the window the next page is read. */
const EDGE_ROWS = 60
/** How many new events wait for a frame before reading pauses. */
const MAX_WAITING = 1_000

/** See the head of this file. */
export class TimelineStore {
  readonly #onLoggedOut: () => void
  /** The event whose details are shown. */
  readonly detail: Resource<EventsPage>
  readonly #window = new EventWindow()
  #rows: TimelineRows
  #state = $state.raw<TimelineState>({ kind: 'loading' })
  #actors = $state.raw<ReadonlySet<string>>(new Set())
  #partial = $state(false)
  #scope: EventScope = { kind: 'none' }
  #filter: EventFilter = NO_FILTER
  #query = new URLSearchParams()
  /** Incremented by each load: only the results of the latest one count. */
  #generation = 0
  #reading = false
  #stream: EventStream | null = null
  #followed: LogCursor | null = null
  #following = false
  #waiting: Event[] = []
  #flushed: Promise<void> | null = null
  #firstVisible = 0

  constructor(onLoggedOut: () => void) {
    this.#rows = $state.raw(this.#window.rows())
    this.#onLoggedOut = onLoggedOut
    this.detail = new Resource(onLoggedOut)
  }

  /** The rows. */
  get rows(): TimelineRows {
    return this.#rows
  }

  /** The loading state. */
  get state(): TimelineState {
    return this.#state
  }

  /** The actors that were seen. */
  get actors(): ReadonlySet<string> {
    return this.#actors
  }

  /** Whether this login may see only a part of the log. */
  get partial(): boolean {
    return this.#partial
  }

  /** Selects the events. If the number of one is given, the window includes it. */
  select(scope: EventScope, filter: EventFilter, event: string | null): void {
    this.#scope = scope
    this.#filter = filter
    this.#query = eventQuery(scope, filter)
    void this.#load(event)
  }

  /** Loads one event with its whole body, if it is not loaded. */
  loadDetail(number: string): void {
    const loaded = latestValue(this.detail.state)?.events[0]
    if (loaded !== undefined && eventNumber(loaded) === number) return
    void this.detail.load(`/api/events?from=${encodeURIComponent(number)}&limit=1&bodies=whole`)
  }

  /** Reads the log again: it was replaced, or events were missed. */
  reload(): void {
    void this.#load(null)
  }

  /** Goes to the end of the log. */
  async showLatest(): Promise<void> {
    if (this.#window.edges.later !== null) await this.#load(null)
  }

  /** Goes to the beginning of the log. */
  async showEarliest(): Promise<void> {
    if (this.#window.edges.earlier === null) return
    const generation = this.#restart()
    const page = await this.#fetchRows({ after: 'start' }, generation)
    if (page !== null) this.#show(page.events, { earlier: null, later: page.next }, page.head)
  }

  /** Reads the pages next to the visible rows. */
  setVisible(start: number, end: number): void {
    this.#firstVisible = start
    if (this.#state.kind !== 'loaded' || this.#reading) return
    if (start < EDGE_ROWS && this.#window.edges.earlier !== null) void this.#readEarlier(this.#window.edges.earlier)
    else if (end > this.#rows.length - EDGE_ROWS && this.#window.edges.later !== null) void this.#readLater(this.#window.edges.later)
  }

  /** Follows new events as long as the window reaches the end of the log, or pauses. */
  setFollowing(following: boolean): void {
    this.#following = following
    if (following) this.#follow()
    else this.#stopStream()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#stream?.retryNow()
    if (this.#state.kind === 'failed') void this.#load(null)
  }

  /** The event with this number, if it is in memory. */
  find(number: string): Event | undefined {
    return this.#window.find(number)
  }

  #restart(): number {
    this.#stopStream()
    this.#followed = null
    this.#waiting = []
    this.#reading = false
    return ++this.#generation
  }

  async #load(event: string | null): Promise<void> {
    const generation = this.#restart()
    this.#window.replace([], { earlier: null, later: null })
    this.#publish()
    this.#state = { kind: 'loading' }
    if (this.#scope.kind === 'none') return
    const only = requestedNumber(this.#filter)
    if (only !== null) return this.#loadOnly(only, generation)
    const newest = await this.#fetchRows({}, generation)
    if (newest === null) return
    const events = newest.events.toReversed()
    const isShown = event === null || events.some((one) => eventNumber(one) === event)
    if (!isShown && newest.next !== null) return this.#loadAround(event, generation)
    this.#show(events, { earlier: newest.next, later: null }, newest.head)
  }

  /** Loads the events before and after one. */
  async #loadAround(event: string, generation: number): Promise<void> {
    const [before, after] = await Promise.all([this.#fetchRows({ before: event }, generation), this.#fetchRows({ from: event }, generation)])
    if (before === null || after === null) return
    this.#show([...before.events.toReversed(), ...after.events], { earlier: before.next, later: after.next }, after.head)
  }

  async #loadOnly(number: string, generation: number): Promise<void> {
    const page = await this.#fetchPage({ from: number, limit: 1 }, generation)
    if (page !== null) this.#show(page.events.filter((event) => eventNumber(event) === number), { earlier: null, later: null }, null)
  }

  #show(events: readonly Event[], edges: WindowEdges, head: LogCursor | null): void {
    this.#window.replace(events, edges)
    this.#note(events)
    this.#state = { kind: 'loaded' }
    this.#publish()
    if (edges.later === null) this.#followed = head
    this.#follow()
  }

  async #readEarlier(before: LogCursor): Promise<void> {
    await this.#readPage({ before: formatCursor(before) }, (page) => {
      const events = page.events.toReversed()
      this.#window.prepend(events, page.next)
      this.#note(events)
      if (this.#window.edges.later === null) return
      this.#stopStream()
      this.#followed = null
    })
  }

  async #readLater(after: PageStart): Promise<void> {
    await this.#readPage({ after: after === 'start' ? after : formatCursor(after) }, (page) => {
      this.#window.append(page.events, page.next)
      this.#note(page.events)
      if (page.next !== null) return
      this.#followed = page.head
      this.#follow()
    })
  }

  async #readPage(cursor: PageCursor, apply: (page: EventsPage) => void): Promise<void> {
    const generation = this.#generation
    this.#reading = true
    const page = await this.#fetchPage(cursor, generation)
    if (generation !== this.#generation) return
    this.#reading = false
    if (page === null) return
    apply(page)
    this.#publish()
  }

  /** As many pages as are needed for the first rows. */
  async #fetchRows(cursor: PageCursor, generation: number): Promise<EventsPage | null> {
    let page = await this.#fetchPage({ ...cursor, limit: FIRST_ROWS }, generation)
    while (page !== null && page.next !== null && page.events.length < FIRST_ROWS) {
      const { events } = page
      const next = formatCursor(page.next)
      const isForward = cursor.after !== undefined || cursor.from !== undefined
      const more = await this.#fetchPage(isForward ? { after: next } : { before: next }, generation)
      page = more === null ? null : { ...more, events: [...events, ...more.events] }
    }
    return page
  }

  /** A page of matching events; null if that failed or another selection was made since. */
  async #fetchPage({ limit = PAGE_SIZE, ...cursor }: PageCursor, generation: number): Promise<EventsPage | null> {
    const query = new URLSearchParams(this.#query)
    query.set('limit', String(limit))
    for (const [name, position] of Object.entries(cursor)) query.set(name, position)
    const result = await sendRequest<EventsPage>({ method: 'GET', path: `/api/events?${query.toString()}` })
    if (generation !== this.#generation) return null
    if (result.kind === 'ok') return result.value
    if (result.kind === 'loggedOut') this.#onLoggedOut()
    else if (this.#state.kind === 'loading') {
      this.#state = { kind: 'failed', reason: result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.` }
    }
    return null
  }

  #follow(): void {
    if (!this.#following || this.#stream !== null || this.#followed === null) return
    const generation = this.#generation
    this.#stream = new EventStream(this.#query, this.#followed, {
      state: (state) => {
        if (state.kind === 'loggedOut') this.#onLoggedOut()
      },
      events: (events) => (generation === this.#generation ? this.#enqueue(events) : undefined),
      resync: () => {
        if (generation === this.#generation) this.reload()
      },
    })
    this.#stream.start()
  }

  #stopStream(): void {
    this.#stream?.stop()
    this.#stream = null
    this.#flush()
  }

  #enqueue(events: readonly Event[]): Promise<void> | undefined {
    this.#waiting.push(...events)
    this.#flushed ??= nextFrame().then(() => {
      this.#flushed = null
      this.#flush()
    })
    return this.#waiting.length >= MAX_WAITING ? this.#flushed : undefined
  }

  #flush(): void {
    const events = this.#waiting
    const last = events.at(-1)
    if (last === undefined) return
    this.#waiting = []
    if (this.#window.wouldDrop(events.length, this.#firstVisible)) {
      // Rows that are being read stay: the rest is read when it is scrolled to.
      this.#window.detach()
      this.#followed = null
      this.#stream?.stop()
      this.#stream = null
    } else {
      this.#window.append(events, null)
      this.#followed = last.seq
      this.#note(events)
    }
    this.#publish()
  }

  /** Notes the actors of events that are in order, and whether some are missing where none should be. */
  #note(events: readonly Event[]): void {
    const unseen = events.filter(({ actor }) => !this.#actors.has(actor))
    if (unseen.length > 0) this.#actors = new Set([...this.#actors, ...unseen.map(({ actor }) => actor)])
    if (this.#scope.kind !== 'all' || !isEmptyFilter(this.#filter)) return
    // Each event has the hash of the one before it in the log.
    if (events.some(({ prev }, index) => index > 0 && prev !== events[index - 1]?.hash)) this.#partial = true
  }

  #publish(): void {
    this.#rows = this.#window.rows()
  }
}

/** Where a page begins, and in which direction it goes: at most one of the three, as text. */
type PageCursor = { readonly before?: string; readonly after?: string; readonly from?: string; readonly limit?: number }
