/** The story of one action: its events in order, read from the daemon and then followed in the log. */
import type { ActionId, ApprovalId, Event } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { hydrateEvent, isTruncated } from '../log/truncated.ts'

/** How far the story has been read. */
export type StoryState =
  | { readonly kind: 'none' }
  | { readonly kind: 'reading' }
  | { readonly kind: 'here'; readonly events: readonly Event[] }
  | { readonly kind: 'failed'; readonly reason: string }

type Page = { readonly events: readonly Event[]; readonly next: number | null }

/** How many bodies that are kept beside the log are fetched with a story; the others are named. */
const BODIES = 40
/** How long events that only the daemon can tell apart are gathered. */
const LATE_MS = 500
/** How many events a story has at most on screen. */
export const STORY_LIMIT = 5_000

/** The questions that belong to these events. */
export function questionsOf(events: readonly Event[]): ReadonlySet<ApprovalId> {
  const out = new Set<ApprovalId>()
  for (const { body } of events) if ('approval' in body && typeof body.approval === 'string') out.add(body.approval)
  return out
}

/** Whether an event is part of the story of an action. */
export function belongs(event: Event, action: ActionId, questions: ReadonlySet<ApprovalId>): boolean {
  const { body } = event
  if ('action' in body && body.action === action) return true
  return 'approval' in body && typeof body.approval === 'string' && questions.has(body.approval)
}

/** See the head of this file. */
export class Story {
  #state = $state.raw<StoryState>({ kind: 'none' })
  #action: ActionId | null = null
  #turn = 0
  #late: ReturnType<typeof setTimeout> | undefined
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** How far it has been read. */
  get state(): StoryState {
    return this.#state
  }

  /** Reads the story of an action; null puts it away. */
  async read(action: ActionId | null): Promise<void> {
    const turn = ++this.#turn
    if (action !== this.#action) this.#state = action === null ? { kind: 'none' } : { kind: 'reading' }
    this.#action = action
    if (action === null) return
    const events = await this.#fetch(action, 0, turn)
    if (events !== null && turn === this.#turn) this.#state = { kind: 'here', events }
  }

  /** The events after a place; null when it failed, or is no longer wanted. */
  async #fetch(action: ActionId, from: number, turn: number): Promise<readonly Event[] | null> {
    const events: Event[] = []
    let after = from
    while (events.length < STORY_LIMIT) {
      const result = await sendRequest<Page>({ method: 'GET', path: `/api/audit?action=${encodeURIComponent(action)}&after=${String(after)}` })
      if (turn !== this.#turn) return null
      if (result.kind !== 'ok') {
        if (result.kind === 'loggedOut') this.#loggedOut()
        else this.#state = { kind: 'failed', reason: result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.` }
        return null
      }
      events.push(...result.value.events)
      if (result.value.next === null) break
      after = result.value.next
    }
    return opened(events)
  }

  /** Asks the daemon for what came since, at most so often. */
  async #catchUp(): Promise<void> {
    this.#late = undefined
    if (this.#action === null || this.#state.kind !== 'here') return
    const turn = this.#turn
    const known = this.#state.events
    const more = await this.#fetch(this.#action, known.at(-1)?.seq ?? 0, turn)
    if (more === null || turn !== this.#turn) return
    const fresh = more.filter(({ seq }) => !known.some((event) => event.seq === seq))
    this.#state = { kind: 'here', events: [...known, ...fresh].slice(0, STORY_LIMIT) }
  }

  /** Goes on with new events of the log. */
  follow(events: readonly Event[]): void {
    if (this.#action === null || this.#state.kind !== 'here') return
    const known = this.#state.events
    const last = known.at(-1)?.seq ?? 0
    // What a sealed event is about only its body tells, so the daemon has to.
    if (this.#late !== undefined || events.some((event) => event.seq > last && isTruncated(event) && /^(?:ACTION|APPROVAL|GRANT)_/.test(event.kind))) {
      this.#late ??= setTimeout(() => void this.#catchUp(), LATE_MS)
      return
    }
    const questions = questionsOf(known)
    const action = this.#action
    const more = events.filter((event) => event.seq > last && belongs(event, action, questions))
    if (more.length > 0) this.#state = { kind: 'here', events: [...known, ...more].slice(0, STORY_LIMIT) }
  }
}

/** The events with the bodies that are kept beside the log, as many as are fetched. */
async function opened(events: readonly Event[]): Promise<readonly Event[]> {
  let left = BODIES
  const out: Event[] = []
  for (const event of events) {
    if (isTruncated(event) && left-- > 0) {
      out.push((await hydrateEvent(event)) ?? event)
    } else out.push(event)
  }
  return out
}
