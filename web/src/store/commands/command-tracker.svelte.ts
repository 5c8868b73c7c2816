/**
 * The commands that were sent, each pending until the log confirms it.
 *
 * A response never changes what is shown. It says that the command was refused, or
 * which project or session it is about. A command is done when the log holds an event
 * with its id; an action is done when the log holds its end.
 */
import type { ActionId, ActionResponse, ActionView, Code, DocumentChange, Project, ProjectId } from '../../proto/index.ts'
import { newCommandId, sendRequest, type ApiResult } from '../../net/index.ts'
import { requestFor, type Command, type RuntimeCommand } from './command.ts'

/** A command that the log has not confirmed yet. */
export type PendingCommand = { readonly id: string; readonly command: Command }

/** How a command ended. */
export type CommandOutcome =
  /** The log confirms it. The response is null if it was lost. */
  | { readonly kind: 'done'; readonly response: unknown }
  | { readonly kind: 'alreadyOpen'; readonly project: Project }
  /** The daemon accepted it. Its effect is a file, or events without the command's id. */
  | { readonly kind: 'accepted' }
  | { readonly kind: 'failed'; readonly reason: string; readonly code: Code | null }

type WaitingCommand = {
  readonly command: Command
  /** Resolves `confirmed`: the log holds the command, or how its action ended. */
  readonly confirm: (outcome: CommandOutcome) => void
  readonly confirmed: Promise<CommandOutcome>
  /** Whether the daemon has accepted it. */
  accepted: boolean
  /** The action that it started, once that is known. */
  action: ActionId | null
}

const CONFIRM_TIMEOUT_MS = 30_000

const DONE: CommandOutcome = { kind: 'done', response: null }

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
    let confirm: WaitingCommand['confirm'] = () => undefined
    const confirmed = new Promise<CommandOutcome>((resolve) => (confirm = resolve))
    const waiting: WaitingCommand = { command, confirm, confirmed, accepted: false, action: null }
    this.#waiting.set(id, waiting)
    const outcome = await this.#request(waiting, id)
    this.#waiting.delete(id)
    this.#pending = this.#pending.filter((pending) => pending.id !== id)
    return outcome
  }

  /** Resolves the commands that are in the log, and those whose action may have ended. */
  confirm(commands: readonly string[], changes: readonly DocumentChange[]): void {
    if (this.#waiting.size === 0) return
    for (const id of commands) {
      const waiting = this.#waiting.get(id)
      if (waiting !== undefined && waiting.command.kind !== 'runtime') waiting.confirm(DONE)
    }
    for (const waiting of this.#waiting.values()) {
      const { action } = waiting
      if (action !== null && changes.some(({ view, key }) => view === 'actions' && key === action)) void this.#fetchAction(waiting, action)
    }
  }

  /** Resolves what a snapshot includes: it says what is, and not by which commands. */
  confirmAccepted(): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.action !== null) void this.#fetchAction(waiting, waiting.action)
      else if (waiting.accepted && waiting.command.kind !== 'runtime') waiting.confirm(DONE)
    }
  }

  /** Resolves a command if its action has ended. */
  async #fetchAction(waiting: WaitingCommand, action: ActionId): Promise<void> {
    const result = await sendRequest<ActionView>({ method: 'GET', path: `/api/actions/${encodeURIComponent(action)}` })
    if (result.kind !== 'ok') return
    if (result.value.status === 'denied') waiting.confirm({ kind: 'failed', reason: `It was denied to ${result.value.what}; the timeline says why.`, code: null })
    if (result.value.status !== 'finished') return
    const fault = result.value.outcome?.fault ?? null
    waiting.confirm(fault === null ? DONE : { kind: 'failed', reason: fault.message, code: fault.code })
  }

  async #request(waiting: WaitingCommand, id: string): Promise<CommandOutcome> {
    const { command, confirmed } = waiting
    const result = await sendRequest<unknown>({ ...requestFor(command), command: id })
    const failure = this.#failureOf(result)
    // The response was lost, but the command may be in the log.
    if (failure !== null) return result.kind === 'unreachable' ? Promise.race([confirmed, failure]) : failure
    if (result.kind !== 'ok') return confirmed
    waiting.accepted = true
    if (DONE_WHEN_ACCEPTED.has(command.kind)) return { kind: 'accepted' }
    if (command.kind === 'runtime') {
      waiting.action = (result.value as ActionResponse).actionId
      // The action may have ended before its id was known here.
      await this.#fetchAction(waiting, waiting.action)
      // No timeout: the log says when the action has ended.
      return confirmed
    }
    if (result.status === 200 && command.kind === 'openProject') return { kind: 'alreadyOpen', project: result.value as Project }
    const outcome = await Promise.race([confirmed, confirmTimeout()])
    return outcome.kind === 'done' ? { kind: 'done', response: result.value } : outcome
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

async function confirmTimeout(): Promise<CommandOutcome> {
  await new Promise((resolve) => setTimeout(resolve, CONFIRM_TIMEOUT_MS))
  return { kind: 'failed', reason: 'The daemon accepted the command, but the log does not show it yet.', code: null }
}

/** The runtime command that is pending in a project, or null. */
export function pendingRuntimeCommand(pending: readonly PendingCommand[], project: ProjectId): RuntimeCommand | null {
  for (const { command } of pending) if (command.kind === 'runtime' && command.project === project) return command.command
  return null
}
