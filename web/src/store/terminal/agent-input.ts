/** What agents typed into the terminals, as the log has it: a pure fold. */
import type { ActionId, Event, ProjectId } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'

/** One text that an agent typed. */
export type Typed = {
  readonly action: ActionId
  readonly project: ProjectId
  readonly actor: string
  readonly role: string | null
  readonly text: string
  /** When it asked to. */
  readonly at: number
}

/** What was asked for and has not ended, and the last that was typed. */
export type Typing = {
  readonly asked: ReadonlyMap<ActionId, Typed>
  readonly done: ReadonlyMap<ProjectId, readonly Typed[]>
}

/** Before the first event. */
export const NO_TYPING: Typing = { asked: new Map(), done: new Map() }

const ASKED = 100
const DONE = 20

/** Folds one event. What was denied or failed was not typed. */
export function foldTyping(typing: Typing, event: Event): Typing {
  if (isTruncated(event)) return typing
  switch (event.kind) {
    case 'ACTION_REQUESTED': {
      if (event.body.name !== 'pty.write' || !event.actor.startsWith('agent:')) return typing
      const { action, project, params, role } = event.body
      const asked = new Map(typing.asked).set(action, { action, project, actor: event.actor, role: role ?? null, text: textOf(params), at: event.at })
      for (const id of asked.keys()) if (asked.size > ASKED) asked.delete(id)
      return { ...typing, asked }
    }
    case 'ACTION_DENIED':
    case 'ACTION_FINISHED': {
      const typed = typing.asked.get(event.body.action)
      if (typed === undefined) return typing
      const asked = new Map(typing.asked)
      asked.delete(typed.action)
      if (event.kind === 'ACTION_DENIED' || event.body.outcome.fault !== null) return { ...typing, asked }
      const done = [...(typing.done.get(typed.project) ?? []), typed].slice(-DONE)
      return { asked, done: new Map(typing.done).set(typed.project, done) }
    }
    default:
      return typing
  }
}

function textOf(params: unknown): string {
  if (typeof params !== 'object' || params === null || !('text' in params)) return ''
  return typeof params.text === 'string' ? params.text : ''
}
