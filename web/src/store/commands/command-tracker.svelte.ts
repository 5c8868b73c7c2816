/**
 * The commands that were sent, each pending until the log confirms it.
 *
 * A response never changes what is shown. It only says that the command was
 * refused, or that there was nothing to do. A command is done when the log holds
 * an event with its id; an action is done when the log holds its end.
 */
import type { ActionId, ActionResponse, ActionView, Code, Event, Project, ProjectId } from '../../proto/index.ts'
import { newCommandId, sendRequest, type ApiResult } from '../../net/index.ts'
import { isTruncated } from '../log/truncated.ts'
import { requestFor, type Command, type RuntimeCommand } from './command.ts'

/** A command that the log has not confirmed yet. */
export type PendingCommand = { readonly id: string; readonly command: Command }

/** How a command ended. */
export type CommandOutcome =
  | { readonly kind: 'done'; readonly event: Event | null }
  | { readonly kind: 'alreadyOpen'; readonly project: Project }
  /** The daemon accepted it. Its effect is a file, or events without the command's id. */
  | { readonly kind: 'accepted' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

type WaitingCommand = {
  readonly command: Command
  readonly resolve: (outcome: CommandOutcome) => void
  /** The action that it started, once that is known. */
  action: ActionId | null
}

const CONFIRM_TIMEOUT_MS = 30_000

/** Commands whose events do not carry the command's id: a successful response ends them. */
const DONE_WHEN_ACCEPTED: ReadonlySet<Command['kind']> = new Set(['setModel', 'answerApproval', 'cancelTurn', 'continueTurn', 'closeSession'])

/** See the head of this file. */
export class CommandTracker {
  #pending = $state.raw<readonly PendingCommand[]>([])
  readonly #waiting = new Map<string, WaitingCommand>()
  readonly #onLoggedOut: () => void

  constructor(onLoggedOut: () => void) {
    this.#onLoggedOut = onLoggedOut
  }

  /** The commands that are not confirmed yet. */
  get pending(): readonly PendingCommand[] {
    return this.#pending
  }

  /** Sends a command. Resolves when the log confirms it or it has failed. */
  async send(command: Command): Promise<CommandOutcome> {
    const id = newCommandId()
    this.#pending = [...this.#pending, { id, command }]
    const confirmed = new Promise<CommandOutcome>((resolve) => this.#waiting.set(id, { command, resolve, action: null }))
    const outcome = await Promise.race([confirmed, this.#request(command, id, confirmed)])
    this.#waiting.delete(id)
    this.#pending = this.#pending.filter((pending) => pending.id !== id)
    return outcome
  }

  /** Resolves the commands that these events confirm. */
  confirm(events: readonly Event[]): void {
    if (this.#waiting.size === 0) return
    for (const event of events) {
      const waiting = event.command === null ? undefined : this.#waiting.get(event.command)
      if (waiting?.command.kind === 'runtime') recordAction(waiting, event)
      else waiting?.resolve({ kind: 'done', event })
      if (event.kind === 'ACTION_FINISHED' || event.kind === 'ACTION_DENIED') this.#resolveAction(event)
    }
  }

  /** Resolves the command whose action this event ends, if there is one. */
  #resolveAction(event: Extract<Event, { kind: 'ACTION_FINISHED' | 'ACTION_DENIED' }>): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.action === null) continue
      // A truncated event does not say which action it ends.
      if (isTruncated(event)) void this.#fetchAction(waiting, waiting.action)
      else if (event.body.action === waiting.action) {
        const fault = event.kind === 'ACTION_DENIED' ? event.body.fault : event.body.outcome.fault
        waiting.resolve(fault === null ? { kind: 'done', event } : { kind: 'failed', reason: fault.message, code: fault.code })
      }
    }
  }

  async #fetchAction(waiting: WaitingCommand, action: ActionId): Promise<void> {
    const result = await sendRequest<ActionView>({ method: 'GET', path: `/api/actions/${encodeURIComponent(action)}` })
    if (result.kind !== 'ok' || result.value.status !== 'finished') return
    const fault = result.value.outcome?.fault ?? null
    waiting.resolve(fault === null ? { kind: 'done', event: null } : { kind: 'failed', reason: fault.message, code: fault.code })
  }

  async #request(command: Command, id: string, confirmed: Promise<CommandOutcome>): Promise<CommandOutcome> {
    const result = await sendRequest<unknown>({ ...requestFor(command), command: id })
    const failure = this.#failureOf(result)
    if (failure !== null) return failure
    if (DONE_WHEN_ACCEPTED.has(command.kind)) return { kind: 'accepted' }
    // No timeout: the log says when the action has ended.
    if (command.kind === 'runtime') return this.#awaitAction(id, result, confirmed)
    if (result.kind === 'ok' && result.status === 200 && command.kind === 'openProject') {
      return { kind: 'alreadyOpen', project: result.value as Project }
    }
    return Promise.race([confirmed, confirmTimeout()])
  }

  async #awaitAction(id: string, result: ApiResult<unknown>, confirmed: Promise<CommandOutcome>): Promise<CommandOutcome> {
    const waiting = this.#waiting.get(id)
    if (waiting !== undefined && result.kind === 'ok') {
      waiting.action = (result.value as ActionResponse).actionId
      // The action may have ended before its id was known here.
      await this.#fetchAction(waiting, waiting.action)
    }
    return confirmed
  }

  #failureOf(result: ApiResult<unknown>): CommandOutcome | null {
    switch (result.kind) {
      case 'ok':
        return null
      case 'refused':
        return { kind: 'failed', reason: result.problem.error, code: result.problem.code }
      case 'loggedOut':
        this.#onLoggedOut()
        return { kind: 'failed', reason: 'You are logged out.', code: null }
      case 'unreachable':
        return {
          kind: 'failed',
          reason: `The daemon did not respond: ${result.reason}. The command may still have run; if so, it appears in the timeline.`,
          code: null,
        }
    }
  }
}

/** Records the action that a command started, from the event that requested it. */
function recordAction(waiting: WaitingCommand, event: Event): void {
  if (event.kind === 'ACTION_REQUESTED' && !isTruncated(event)) waiting.action = event.body.action
}

async function confirmTimeout(): Promise<CommandOutcome> {
  await new Promise((resolve) => setTimeout(resolve, CONFIRM_TIMEOUT_MS))
  return { kind: 'failed', reason: 'The daemon accepted the command, but the log does not show it yet.', code: null }
}

/** The runtime command that is pending in a project, or null. */
export function pendingRuntimeCommand(pending: readonly PendingCommand[], project: ProjectId): RuntimeCommand | null {
  for (const { command } of pending) if (command.kind === 'runtime' && command.project === project) return command.command
  return null
}
