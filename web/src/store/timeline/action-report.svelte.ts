/** The report of one action: its events in order, loaded from the daemon and then followed in the log. */
import type { ActionId, ApprovalId, Event } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { hydrateEvent, isTruncated } from '../log/truncated.ts'

/** The loading state of the report. */
export type ActionReportState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly events: readonly Event[] }
  | { readonly kind: 'failed'; readonly reason: string }

type AuditPage = { readonly events: readonly Event[]; readonly next: number | null }

/** How many truncated events are hydrated; the others are only listed. */
const MAX_HYDRATED = 40
/** How long to wait before the daemon is asked about truncated events, in milliseconds. */
const CATCH_UP_MS = 500
/** How many events a report has at most. */
export const REPORT_LIMIT = 5_000

/** The approvals that these events are about. */
export function approvalsOf(events: readonly Event[]): ReadonlySet<ApprovalId> {
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
  #catchUpTimer: ReturnType<typeof setTimeout> | undefined
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The loading state. */
  get state(): ActionReportState {
    return this.#state
  }

  /** Loads the report of an action; null unloads it. */
  async load(action: ActionId | null): Promise<void> {
    const generation = ++this.#generation
    if (action !== this.#action) this.#state = action === null ? { kind: 'none' } : { kind: 'loading' }
    this.#action = action
    if (action === null) return
    const events = await this.#fetch(action, 0, generation)
    if (events !== null && generation === this.#generation) this.#state = { kind: 'loaded', events }
  }

  /** The events after a seq; null if that failed or another report was requested since. */
  async #fetch(action: ActionId, from: number, generation: number): Promise<readonly Event[] | null> {
    const events: Event[] = []
    let after = from
    while (events.length < REPORT_LIMIT) {
      const result = await sendRequest<AuditPage>({ method: 'GET', path: `/api/audit?action=${encodeURIComponent(action)}&after=${String(after)}` })
      if (generation !== this.#generation) return null
      if (result.kind !== 'ok') {
        if (result.kind === 'loggedOut') this.#onLoggedOut()
        else this.#state = { kind: 'failed', reason: result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.` }
        return null
      }
      events.push(...result.value.events)
      if (result.value.next === null) break
      after = result.value.next
    }
    return hydrateSome(events)
  }

  /** Fetches the events since the last known one. */
  async #catchUp(): Promise<void> {
    this.#catchUpTimer = undefined
    if (this.#action === null || this.#state.kind !== 'loaded') return
    const generation = this.#generation
    const known = this.#state.events
    const more = await this.#fetch(this.#action, known.at(-1)?.seq ?? 0, generation)
    if (more === null || generation !== this.#generation) return
    const fresh = more.filter(({ seq }) => !known.some((event) => event.seq === seq))
    this.#state = { kind: 'loaded', events: [...known, ...fresh].slice(0, REPORT_LIMIT) }
  }

  /** Applies new events of the log. */
  append(events: readonly Event[]): void {
    if (this.#action === null || this.#state.kind !== 'loaded') return
    const known = this.#state.events
    const last = known.at(-1)?.seq ?? 0
    // A truncated event does not say which action it is about, so the daemon is asked.
    if (this.#catchUpTimer !== undefined || events.some((event) => event.seq > last && isTruncated(event) && /^(?:ACTION|APPROVAL|GRANT)_/.test(event.kind))) {
      this.#catchUpTimer ??= setTimeout(() => void this.#catchUp(), CATCH_UP_MS)
      return
    }
    const approvals = approvalsOf(known)
    const action = this.#action
    const more = events.filter((event) => event.seq > last && belongsToReport(event, action, approvals))
    if (more.length > 0) this.#state = { kind: 'loaded', events: [...known, ...more].slice(0, REPORT_LIMIT) }
  }
}

/** Hydrates truncated events, up to a limit. */
async function hydrateSome(events: readonly Event[]): Promise<readonly Event[]> {
  let remaining = MAX_HYDRATED
  const out: Event[] = []
  for (const event of events) {
    if (isTruncated(event) && remaining-- > 0) {
      out.push((await hydrateEvent(event)) ?? event)
    } else out.push(event)
  }
  return out
}
