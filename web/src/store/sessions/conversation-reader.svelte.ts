/**
 * The conversation on the screen: loaded once from the daemon, then kept up to
 * date from the event stream.
 *
 * The loaded conversation has a cursor; every later event is folded exactly once,
 * in order. The body of a truncated event is fetched before the next event is
 * folded.
 */
import type { ActionId, Event, SessionDetail, SessionId } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { hydrateEvent, isTruncated } from '../log/truncated.ts'
import { foldActionDetails, foldConversation, type ActionDetails, type Conversation } from './conversation.ts'
import { isSessionEvent, type SessionEvent } from './sessions.ts'

/** The loading state of the conversation. */
export type ConversationState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loading'; readonly session: SessionId }
  | { readonly kind: 'loaded'; readonly conversation: Conversation }
  | { readonly kind: 'failed'; readonly session: SessionId; readonly reason: string }

/** See the head of this file. */
export class ConversationReader {
  #state = $state.raw<ConversationState>({ kind: 'none' })
  #actionDetails = $state.raw<ActionDetails>(new Map())
  #session: SessionId | null = null
  /** Incremented by each load: only the result of the latest one counts. */
  #generation = 0
  /** Events that are not folded yet. */
  #queue: SessionEvent[] = []
  #folding = false
  /** Nothing is folded while loading: the response may be older than the queued events. */
  #loading = false
  readonly #actions = new Set<ActionId>()
  /** Actions with the phase in which they were fetched. */
  readonly #fetchedActions = new Set<string>()
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The loading state. */
  get state(): ConversationState {
    return this.#state
  }

  /** The details of the conversation's actions, as far as they are known. */
  get actionDetails(): ActionDetails {
    return this.#actionDetails
  }

  /** Loads a conversation, or reloads the current one; null unloads it. */
  async load(session: SessionId | null): Promise<void> {
    const generation = ++this.#generation
    if (session !== this.#session) {
      this.#session = session
      this.#actionDetails = new Map()
      this.#actions.clear()
      this.#fetchedActions.clear()
      this.#queue = []
      this.#state = session === null ? { kind: 'none' } : { kind: 'loading', session }
    }
    this.#loading = session !== null
    if (session === null) return
    const result = await sendRequest<SessionDetail>({ method: 'GET', path: `/api/sessions/${encodeURIComponent(session)}` })
    if (generation !== this.#generation) return
    this.#loading = false
    switch (result.kind) {
      case 'ok':
        this.#setConversation(result.value)
        break
      case 'loggedOut':
        this.#onLoggedOut()
        break
      case 'refused':
        this.#state = { kind: 'failed', session, reason: result.problem.error }
        break
      case 'unreachable':
        // Keep a conversation that is already shown: the header shows that the daemon is unreachable.
        if (this.#state.kind !== 'loaded') this.#state = { kind: 'failed', session, reason: `The daemon did not respond: ${result.reason}.` }
    }
    void this.#foldQueue()
  }

  /** Applies new events of the log. */
  append(events: readonly Event[]): void {
    if (this.#session === null) return
    const stream = `session/${this.#session}`
    let details = this.#actionDetails
    for (const event of events) {
      if (event.stream === stream && isSessionEvent(event)) this.#queue.push(event)
      else details = foldActionDetails(details, event, (action) => this.#actions.has(action))
    }
    this.#actionDetails = details
    void this.#foldQueue()
  }

  /**
   * Fetches the details of an action, once while it runs and once after its end: its events
   * may be older than this page, and the body of the last may be truncated.
   */
  async fetchActionDetails(action: ActionId, phase: 'running' | 'ended'): Promise<void> {
    const key = `${action} ${phase}`
    if (this.#fetchedActions.has(key)) return
    this.#fetchedActions.add(key)
    const session = this.#session
    const result = await sendRequest<{ readonly events: readonly Event[] }>({ method: 'GET', path: `/api/audit?action=${encodeURIComponent(action)}` })
    if (result.kind !== 'ok' || session !== this.#session) return
    let fetched: ActionDetails = new Map()
    for (const event of result.value.events) {
      const whole = isTruncated(event) && (event.kind === 'APPROVAL_ASKED' || event.kind === 'ACTION_FINISHED') ? await hydrateEvent(event) : event
      if (whole !== null) fetched = foldActionDetails(fetched, whole, () => true)
    }
    const details = fetched.get(action)
    if (details !== undefined && session === this.#session) this.#actionDetails = new Map(this.#actionDetails).set(action, details)
  }

  /** Folds the queue in order. Only one call runs at a time, because bodies may have to be fetched. */
  async #foldQueue(): Promise<void> {
    if (this.#folding) return
    this.#folding = true
    try {
      while (this.#queue.length > 0 && this.#state.kind === 'loaded' && !this.#loading) await this.#foldToNextTruncated()
    } finally {
      this.#folding = false
    }
  }

  /** Folds up to the next truncated event, and fetches its body. */
  async #foldToNextTruncated(): Promise<void> {
    if (this.#state.kind !== 'loaded') return
    let { conversation } = this.#state
    let truncated: SessionEvent | undefined
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      if (event.seq > conversation.cursor && isTruncated(event)) {
        truncated = event
        break
      }
      conversation = foldConversation(conversation, event)
    }
    this.#setConversation(conversation)
    if (truncated === undefined) return
    const { id } = conversation.session
    const whole = await hydrateEvent(truncated)
    if (id !== this.#session) return
    // Later events cannot be folded without this body: reload everything.
    if (whole === null) await this.load(id)
    else this.#queue.unshift(whole)
  }

  #setConversation(conversation: Conversation): void {
    for (const { content } of conversation.items) {
      if (content.type === 'tool' && content.action !== null && content.result === null) this.#actions.add(content.action)
    }
    this.#state = { kind: 'loaded', conversation }
  }
}
