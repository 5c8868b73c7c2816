/**
 * The commands a person gave, each until the log confirms it.
 *
 * The answer to a request decides nothing that is shown: it only says that the
 * command was refused, or that nothing had to be done. That it was done is
 * known when an event with its id is in the log; of an action, when its end is.
 */
import type { ActionResponse, ActionId, ActionView, Code, Event, Project, ProjectId } from '../../proto/index.ts'
import { sendRequest, newCommandId, type ApiResult } from '../../net/index.ts'
import { isTruncated } from '../log/truncated.ts'
import { requestOf, type Wish } from './command.ts'

/** A command that the log has not confirmed yet. */
export type Pending = { readonly id: string; readonly wish: Wish }

/** How a command ended. */
export type Outcome =
  | { readonly kind: 'done'; readonly event: Event | null }
  | { readonly kind: 'already'; readonly project: Project }
  /** The daemon agreed; what comes of it shows in a file, or under another name in the log. */
  | { readonly kind: 'agreed' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

/** A command that is waited for. */
type Waiting = {
  readonly wish: Wish
  readonly end: (outcome: Outcome) => void
  /** The action it became, once that is known. */
  action: ActionId | null
}

const CONFIRM_MS = 30_000

/** Wishes whose events carry no command: the answer says that they were granted. */
const AGREED: ReadonlySet<Wish['kind']> = new Set(['model', 'answer', 'cancel', 'continue', 'endSession'])

/** See the head of this file. */
export class Commands {
  #pending = $state.raw<readonly Pending[]>([])
  readonly #waiting = new Map<string, Waiting>()
  readonly #loggedOut: () => void

  constructor(loggedOut: () => void) {
    this.#loggedOut = loggedOut
  }

  /** What is under way. */
  get pending(): readonly Pending[] {
    return this.#pending
  }

  /** Sends a command; the promise ends when the log confirms it or it has failed. */
  async send(wish: Wish): Promise<Outcome> {
    const id = newCommandId()
    this.#pending = [...this.#pending, { id, wish }]
    const confirmed = new Promise<Outcome>((end) => this.#waiting.set(id, { wish, end, action: null }))
    const outcome = await Promise.race([confirmed, this.#request(wish, id, confirmed)])
    this.#waiting.delete(id)
    this.#pending = this.#pending.filter((pending) => pending.id !== id)
    return outcome
  }

  /** Tells of new events. */
  confirm(events: readonly Event[]): void {
    if (this.#waiting.size === 0) return
    for (const event of events) {
      const waiting = event.command === null ? undefined : this.#waiting.get(event.command)
      if (waiting?.wish.kind === 'runtime') begun(waiting, event)
      else waiting?.end({ kind: 'done', event })
      if (event.kind === 'ACTION_FINISHED' || event.kind === 'ACTION_DENIED') this.#ended(event)
    }
  }

  /** An action has ended: perhaps one that is waited for. */
  #ended(event: Extract<Event, { kind: 'ACTION_FINISHED' | 'ACTION_DENIED' }>): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.action === null) continue
      // Whose end it is, only its body tells, and that is kept beside the log.
      if (isTruncated(event)) void this.#lookUp(waiting, waiting.action)
      else if (event.body.action === waiting.action) {
        const fault = event.kind === 'ACTION_DENIED' ? event.body.fault : event.body.outcome.fault
        waiting.end(fault === null ? { kind: 'done', event } : { kind: 'failed', reason: fault.message, code: fault.code })
      }
    }
  }

  async #lookUp(waiting: Waiting, action: ActionId): Promise<void> {
    const result = await sendRequest<ActionView>({ method: 'GET', path: `/api/actions/${encodeURIComponent(action)}` })
    if (result.kind !== 'ok' || result.value.status !== 'finished') return
    const fault = result.value.outcome?.fault ?? null
    waiting.end(fault === null ? { kind: 'done', event: null } : { kind: 'failed', reason: fault.message, code: fault.code })
  }

  async #request(wish: Wish, command: string, confirmed: Promise<Outcome>): Promise<Outcome> {
    const result = await sendRequest<unknown>({ ...requestOf(wish), command })
    const failed = this.#failure(result)
    if (failed !== null) return failed
    if (AGREED.has(wish.kind)) return { kind: 'agreed' }
    // It takes as long as it takes, and the log says when it is over.
    if (wish.kind === 'runtime') return this.#follow(command, result, confirmed)
    if (result.kind === 'ok' && result.status === 200 && wish.kind === 'open') {
      return { kind: 'already', project: result.value as Project }
    }
    return Promise.race([confirmed, unconfirmed()])
  }

  async #follow(command: string, result: ApiResult<unknown>, confirmed: Promise<Outcome>): Promise<Outcome> {
    const waiting = this.#waiting.get(command)
    if (waiting !== undefined && result.kind === 'ok') {
      waiting.action = (result.value as ActionResponse).actionId
      // Its end may have been in the log before we knew its name.
      await this.#lookUp(waiting, waiting.action)
    }
    return confirmed
  }

  #failure(result: ApiResult<unknown>): Outcome | null {
    switch (result.kind) {
      case 'ok':
        return null
      case 'refused':
        return { kind: 'failed', reason: result.problem.error, code: result.problem.code }
      case 'loggedOut':
        this.#loggedOut()
        return { kind: 'failed', reason: 'You are logged out.', code: null }
      case 'unreachable':
        return {
          kind: 'failed',
          reason: `The daemon did not respond: ${result.reason}. If it was done all the same, it will show here.`,
          code: null,
        }
    }
  }
}

/** The log has the request of a command: from now on its action is known. */
function begun(waiting: Waiting, event: Event): void {
  if (event.kind === 'ACTION_REQUESTED' && !isTruncated(event)) waiting.action = event.body.action
}

async function unconfirmed(): Promise<Outcome> {
  await new Promise((resolve) => setTimeout(resolve, CONFIRM_MS))
  return { kind: 'failed', reason: 'The daemon agreed, but its log does not show it yet.', code: null }
}

/** The deeds that are under way in a project. */
export function deedOf(pending: readonly Pending[], project: ProjectId): Extract<Wish, { kind: 'runtime' }>['deed'] | null {
  for (const { wish } of pending) if (wish.kind === 'runtime' && wish.project === project) return wish.deed
  return null
}
