/** What agents typed into the terminals, folded from the log. Pure. */
import type { ActionId, Event, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** A text that an agent typed. */
export type AgentInput = {
  readonly action: ActionId
  readonly project: ProjectId
  readonly actor: string
  readonly role: string | null
  readonly text: string
  /** When it was requested. */
  readonly at: number
}

/** Requested input whose action has not ended, and the last input that was typed. */
export type AgentInputLog = {
  readonly requested: ReadonlyMap<ActionId, AgentInput>
  readonly typed: ReadonlyMap<ProjectId, readonly AgentInput[]>
}

/** The state before the first event. */
export const NO_AGENT_INPUT: AgentInputLog = { requested: new Map(), typed: new Map() }

const MAX_REQUESTED = 100
const MAX_TYPED = 20

/** Folds one event. Input that was denied or failed was not typed. */
export function foldAgentInput(input: AgentInputLog, event: Event): AgentInputLog {
  if (isTruncated(event)) return input
  switch (event.kind) {
    case 'ACTION_REQUESTED': {
      if (event.body.name !== 'pty.write' || !event.actor.startsWith('agent:')) return input
      const { action, project, params, role } = event.body
      const requested = new Map(input.requested).set(action, { action, project, actor: event.actor, role: role ?? null, text: textOf(params), at: event.at })
      for (const id of requested.keys()) if (requested.size > MAX_REQUESTED) requested.delete(id)
      return { ...input, requested }
    }
    case 'ACTION_DENIED':
    case 'ACTION_FINISHED': {
      const ended = input.requested.get(event.body.action)
      if (ended === undefined) return input
      const requested = new Map(input.requested)
      requested.delete(ended.action)
      if (event.kind === 'ACTION_DENIED' || event.body.outcome.fault !== null) return { ...input, requested }
      const typed = [...(input.typed.get(ended.project) ?? []), ended].slice(-MAX_TYPED)
      return { requested, typed: new Map(input.typed).set(ended.project, typed) }
    }
    default:
      return input
  }
}

function textOf(params: unknown): string {
  if (typeof params !== 'object' || params === null || !('text' in params)) return ''
  return typeof params.text === 'string' ? params.text : ''
}
