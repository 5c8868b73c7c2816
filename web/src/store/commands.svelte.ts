/**
 * The commands a person gave, each until the log confirms it.
 *
 * The answer to a request decides nothing that is shown: it only says that the
 * command was refused, or that nothing had to be done. That it was done is
 * known when an event with its id is in the log.
 */
import type { Code, Event, Project } from '../proto/index.ts'
import { ask, commandId, type Answer } from '../net/index.ts'
import { requestOf, type Wish } from './wishes.ts'

/** A command that the log has not confirmed yet. */
export type Pending = { readonly id: string; readonly wish: Wish }

/** How a command ended. */
export type Outcome =
  | { readonly kind: 'done'; readonly event: Event }
  | { readonly kind: 'already'; readonly project: Project }
  /** The daemon agreed; what comes of it shows in a file, or under another name in the log. */
  | { readonly kind: 'agreed' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

const CONFIRM_MS = 30_000

/** See the head of this file. */
export class Commands {
  #pending = $state.raw<readonly Pending[]>([])
  readonly #waiting = new Map<string, (outcome: Outcome) => void>()
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
    const id = commandId()
    this.#pending = [...this.#pending, { id, wish }]
    const confirmed = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve))
    const outcome = await Promise.race([confirmed, this.#request(wish, id, confirmed)])
    this.#waiting.delete(id)
    this.#pending = this.#pending.filter((pending) => pending.id !== id)
    return outcome
  }

  /** Tells of new events. */
  confirm(events: readonly Event[]): void {
    if (this.#waiting.size === 0) return
    for (const event of events) {
      if (event.command !== null) this.#waiting.get(event.command)?.({ kind: 'done', event })
    }
  }

  async #request(wish: Wish, command: string, confirmed: Promise<Outcome>): Promise<Outcome> {
    const answer = await ask<unknown>({ ...requestOf(wish), command })
    const failed = this.#failure(answer)
    if (failed !== null) return failed
    if (wish.kind === 'model' || wish.kind === 'answer') return { kind: 'agreed' }
    if (answer.kind === 'ok' && answer.status === 200 && wish.kind === 'open') {
      return { kind: 'already', project: answer.value as Project }
    }
    return Promise.race([confirmed, unconfirmed()])
  }

  #failure(answer: Answer<unknown>): Outcome | null {
    switch (answer.kind) {
      case 'ok':
        return null
      case 'refused':
        return { kind: 'failed', reason: answer.problem.error, code: answer.problem.code }
      case 'loggedOut':
        this.#loggedOut()
        return { kind: 'failed', reason: 'You are logged out.', code: null }
      case 'unreachable':
        return {
          kind: 'failed',
          reason: `The daemon gave no answer: ${answer.reason}. If it was done all the same, it will show here.`,
          code: null,
        }
    }
  }
}

async function unconfirmed(): Promise<Outcome> {
  await new Promise((resolve) => setTimeout(resolve, CONFIRM_MS))
  return { kind: 'failed', reason: 'The daemon agreed, but its log does not show it yet.', code: null }
}
