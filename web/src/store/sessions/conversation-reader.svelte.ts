/**
 * One conversation on the screen: read once as the daemon has it, and from then on
 * followed in the log that the page reads anyway.
 *
 * What is read says up to which place in the log it goes; every event behind it is
 * folded exactly once, in order. A body that is kept beside the log is fetched
 * before what comes after it is folded.
 */
import type { ActionId, Event, SessionDetail, SessionId } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'
import { hydrateEvent, isTruncated } from '../log/truncated.ts'
import { foldDeeds, foldTalk, type Conversation, type Deeds } from './conversation.ts'
import { isTalk, type TalkEvent } from './sessions.ts'

/** How far the conversation has been read. */
export type TalkState =
  | { readonly kind: 'none' }
  | { readonly kind: 'reading'; readonly session: SessionId }
  | { readonly kind: 'here'; readonly talk: Conversation }
  | { readonly kind: 'failed'; readonly session: SessionId; readonly reason: string }

/** See the head of this file. */
export class Talk {
  #state = $state.raw<TalkState>({ kind: 'none' })
  #deeds = $state.raw<Deeds>(new Map())
  #session: SessionId | null = null
  #turn = 0
  /** Events that came and are not folded yet. */
  #queue: TalkEvent[] = []
  #folding = false
  /** While it is read, nothing is folded: what is read may be older than what has come since. */
  #isRead = false
  readonly #actions = new Set<ActionId>()
  readonly #asked = new Set<ActionId>()
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** How far it has been read. */
  get state(): TalkState {
    return this.#state
  }

  /** What the actions of the conversation printed and change, as far as it is known. */
  get deeds(): Deeds {
    return this.#deeds
  }

  /** Reads a conversation, or the one that is here once more; null puts it away. */
  async read(session: SessionId | null): Promise<void> {
    const turn = ++this.#turn
    if (session !== this.#session) {
      this.#session = session
      this.#deeds = new Map()
      this.#actions.clear()
      this.#asked.clear()
      this.#queue = []
      this.#state = session === null ? { kind: 'none' } : { kind: 'reading', session }
    }
    this.#isRead = session !== null
    if (session === null) return
    const result = await sendRequest<SessionDetail>({ method: 'GET', path: `/api/sessions/${encodeURIComponent(session)}` })
    if (turn !== this.#turn) return
    this.#isRead = false
    switch (result.kind) {
      case 'ok':
        this.#set(result.value)
        break
      case 'loggedOut':
        this.#loggedOut()
        break
      case 'refused':
        this.#state = { kind: 'failed', session, reason: result.problem.error }
        break
      case 'unreachable':
        // What is on the screen stays: the page says that the daemon is away.
        if (this.#state.kind !== 'here') this.#state = { kind: 'failed', session, reason: `The daemon did not respond: ${result.reason}.` }
    }
    void this.#fold()
  }

  /** Goes on with new events of the log. */
  follow(events: readonly Event[]): void {
    if (this.#session === null) return
    const stream = `session/${this.#session}`
    let deeds = this.#deeds
    for (const event of events) {
      if (event.stream === stream && isTalk(event)) this.#queue.push(event)
      else deeds = foldDeeds(deeds, event, (action) => this.#actions.has(action))
    }
    this.#deeds = deeds
    void this.#fold()
  }

  /** Fetches what an action printed and changes, once: it may have been before we looked. */
  async lookUp(action: ActionId): Promise<void> {
    if (this.#asked.has(action)) return
    this.#asked.add(action)
    const session = this.#session
    const result = await sendRequest<{ readonly events: readonly Event[] }>({ method: 'GET', path: `/api/audit?action=${encodeURIComponent(action)}` })
    if (result.kind !== 'ok' || session !== this.#session) return
    let told: Deeds = new Map()
    for (const event of result.value.events) {
      const whole = isTruncated(event) && event.kind === 'APPROVAL_ASKED' ? await hydrateEvent(event) : event
      if (whole !== null) told = foldDeeds(told, whole, () => true)
    }
    const deed = told.get(action)
    if (deed !== undefined && session === this.#session) this.#deeds = new Map(this.#deeds).set(action, deed)
  }

  /** Folds what waits, in order; one at a time, because bodies may have to be fetched. */
  async #fold(): Promise<void> {
    if (this.#folding) return
    this.#folding = true
    try {
      while (this.#queue.length > 0 && this.#state.kind === 'here' && !this.#isRead) await this.#foldSome()
    } finally {
      this.#folding = false
    }
  }

  /** Folds up to the next body that is kept beside the log, and fetches that. */
  async #foldSome(): Promise<void> {
    if (this.#state.kind !== 'here') return
    let { talk } = this.#state
    let sealed: TalkEvent | undefined
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      if (event.seq > talk.cursor && isTruncated(event)) {
        sealed = event
        break
      }
      talk = foldTalk(talk, event)
    }
    this.#set(talk)
    if (sealed === undefined) return
    const { id } = talk.session
    const whole = await hydrateEvent(sealed)
    if (id !== this.#session) return
    // Without its body nothing after it can be told: all of it is read again.
    if (whole === null) await this.read(id)
    else this.#queue.unshift(whole)
  }

  #set(talk: Conversation): void {
    for (const { content } of talk.items) {
      if (content.type === 'tool' && content.action !== null && content.result === null) this.#actions.add(content.action)
    }
    this.#state = { kind: 'here', talk }
  }
}
