/** The report of one action: its events in order, loaded from the daemon and then followed in the log. */
import { formatCursor, type ActionId, type ApprovalId, type AuditPage, type Event, type EventsPage, type LogCursor } from '../../proto/index.ts'
import { EventStream, sendRequest } from '../../net/index.ts'

/** The loading state of the report. */
export type ActionReportState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly events: readonly Event[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** How many events a report has at most. */
export const REPORT_LIMIT = 5_000

/** The approvals that these events are about. */
export function listApprovalIds(events: readonly Event[]): ReadonlySet<ApprovalId> {
  const ids = new Set<ApprovalId>()
  for (const { body } of events) if ('approval' in body && typeof body.approval === 'string') ids.add(body.approval)
  return ids
}

/** Whether an event belongs to the report of an action with these approvals. */
export function belongsToReport(event: Event, action: ActionId, approvals: ReadonlySet<ApprovalId>): boolean {
  const { body } = event
  if ('action' in body && body.action === action) return true
  return 'approval' in body && typeof body.approval === 'string' && approvals.has(body.approval)
}

/** See the head of this file. */
export class ActionReportStore {
  #state = $state.raw<ActionReportState>({ kind: 'none' })
  #action: ActionId | null = null
  #generation = 0
  #stream: EventStream | null = null
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The loading state. */
  get state(): ActionReportState {
    return this.#state
  }

  /** Loads and follows the report of an action; null unloads it. */
  async load(action: ActionId | null): Promise<void> {
    const generation = ++this.#generation
    this.#stream?.stop()
    this.#stream = null
    if (action !== this.#action) this.#state = action === null ? { kind: 'none' } : { kind: 'loading' }
    this.#action = action
    if (action === null) return
    // The end of the log before the report is read: what comes later is followed from there.
    const end = await this.#request<EventsPage>('/api/events?limit=1', generation)
    const events = end === null ? null : await this.#fetch(action, generation)
    if (end === null || events === null) return
    this.#state = { kind: 'loaded', events }
    this.#follow(action, end.head, generation)
  }

  /** The events of the action; null if that failed or another report was requested since. */
  async #fetch(action: ActionId, generation: number): Promise<readonly Event[] | null> {
    const events: Event[] = []
    let after = ''
    while (events.length < REPORT_LIMIT) {
      const page = await this.#request<AuditPage>(`/api/audit?action=${encodeURIComponent(action)}&bodies=whole${after}`, generation)
      if (page === null) return null
      events.push(...page.events)
      if (page.next === null) break
      after = `&after=${formatCursor(page.next)}`
    }
    return events
  }

  /** The response; null if that failed or another report was requested since. */
  async #request<T>(path: string, generation: number): Promise<T | null> {
    const result = await sendRequest<T>({ method: 'GET', path })
    if (generation !== this.#generation) return null
    if (result.kind === 'ok') return result.value
    if (result.kind === 'loggedOut') this.#onLoggedOut()
    else this.#state = { kind: 'failed', reason: result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.` }
    return null
  }

  /** Follows the log, unless the action has ended or does not exist. */
  #follow(action: ActionId, after: LogCursor, generation: number): void {
    if (this.#hasEnded || this.#state.kind !== 'loaded' || this.#state.events.length === 0) return
    this.#stream = new EventStream(new URLSearchParams({ bodies: 'whole' }), after, {
      state: (state) => {
        if (state.kind === 'loggedOut') this.#onLoggedOut()
      },
      events: (events) => {
        if (generation === this.#generation) this.#append(action, events)
        return undefined
      },
      resync: () => void this.load(this.#action),
    })
    this.#stream.start()
  }

  get #hasEnded(): boolean {
    return this.#state.kind === 'loaded' && this.#state.events.some(({ kind }) => kind === 'ACTION_FINISHED' || kind === 'ACTION_DENIED' || kind === 'ACTION_READ')
  }

  /** Applies new events of the log. */
  #append(action: ActionId, events: readonly Event[]): void {
    if (this.#state.kind !== 'loaded') return
    const known = this.#state.events
    const [ids, approvals] = [new Set(known.map(({ id }) => id)), listApprovalIds(known)]
    const more = events.filter((event) => !ids.has(event.id) && belongsToReport(event, action, approvals))
    if (more.length === 0) return
    this.#state = { kind: 'loaded', events: [...known, ...more].slice(0, REPORT_LIMIT) }
    if (this.#hasEnded) this.#stream?.stop()
  }
}
