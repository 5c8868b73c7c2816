/** The story of one action, told in sentences from its events. Pure. */
import type { ActionId, AllowedBy, Approval, ApprovalId, Event, ObservedChanges, RuleRef } from '../../proto/index.ts'
import { ended, shown } from './summary.ts'

/** One step of the story. Texts may be an agent's: draw them with `Text` only. */
export type Step = {
  readonly seq: number
  readonly at: number
  readonly kind: string
  readonly tone: 'plain' | 'good' | 'warn' | 'bad'
  readonly said: string
  /** Lines below the sentence, such as what a command printed. */
  readonly lines: readonly string[]
}

/** The action an event is about, if it is about one. */
export function actionOf(event: Event, approvals: ReadonlyMap<ApprovalId, Approval>): ActionId | null {
  const { body } = event
  if ('action' in body && typeof body.action === 'string') return body.action
  if ('approval' in body && typeof body.approval === 'string') return approvals.get(body.approval)?.action ?? null
  return null
}

/** The steps; what a command printed in a row is one of them. */
export function stepsOf(events: readonly Event[]): readonly Step[] {
  const out: Step[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.kind === 'ACTION_OUTPUT' && last?.kind === event.kind && !('$blob' in event.body)) {
      out[out.length - 1] = { ...last, lines: [...last.lines, ...printed(event)] }
    } else out.push({ seq: event.seq, at: event.at, kind: event.kind, ...told(event) })
  }
  return out
}

type Told = Pick<Step, 'tone' | 'said' | 'lines'>

function told(event: Event): Told {
  const plain = (said: string, lines: readonly string[] = []): Told => ({ tone: 'plain', said, lines })
  if ('$blob' in event.body) return plain(`${event.kind}: a large body, kept beside the log`)
  const who = `${event.actor} (${event.principal})`
  switch (event.kind) {
    case 'ACTION_REQUESTED':
      return plain(`${who} asked to ${event.body.what}${inRole(event.body.role)}`)
    case 'ACTION_READ':
      return plain(`${who} did ${event.body.what}${inRole(event.body.role)}: ${because(event.body.why)}. ${ended(event.body.outcome)}`)
    case 'ACTION_WAITING':
      return { tone: 'warn', said: 'It waits for the answer of a person', lines: [] }
    case 'APPROVAL_ASKED': {
      const { why, gate, rules } = event.body.question
      return { tone: 'warn', said: `A person is asked: ${why}`, lines: [...(gate === null ? [] : [`Hard gate: ${gate}`]), ...rules.map(ruleSaid)] }
    }
    case 'APPROVAL_ANSWERED': {
      const { decision, scope, message } = event.body
      if (decision === 'allow') return { tone: 'good', said: `${who} allowed it${scope === null ? '' : `: ${scope}`}`, lines: [] }
      return { tone: 'bad', said: `${who} denied it`, lines: message === null ? [] : [message] }
    }
    case 'APPROVAL_EXPIRED':
      return { tone: 'bad', said: 'Nobody answered in time', lines: [] }
    case 'APPROVAL_WITHDRAWN':
      return plain(`The question fell away: ${event.body.why}`)
    case 'GRANT_CREATED':
      return plain(`Granted from then on: ${event.body.what}`)
    case 'ACTION_DENIED':
      return { tone: 'bad', said: `It was denied: ${event.body.fault.message}`, lines: [] }
    case 'ACTION_ALLOWED': {
      const why = event.body.why === undefined ? `allowed by ${event.body.by}` : because(event.body.why)
      return { tone: 'good', said: `It may run: ${why}${event.body.profile === undefined ? '' : `, under the profile ${event.body.profile}`}`, lines: [] }
    }
    case 'ACTION_STARTED': {
      return plain(`It ran as process ${String(event.body.pid)} under the profile ${event.body.profile}`, wallLines(event.body.layers))
    }
    case 'ACTION_OUTPUT':
      return plain('It printed', printed(event))
    case 'TOOL_CALLED':
      return plain(`The model of session ${event.body.session} called ${event.body.tool}`, [event.body.arguments])
    case 'ACTION_FINISHED': {
      const { fault, exitCode, summary } = event.body.outcome
      const good = fault === null && (exitCode === null || exitCode === 0)
      return { tone: good ? 'good' : 'bad', said: ended(event.body.outcome), lines: summaryLines(summary) }
    }
    default:
      return plain(event.kind, [JSON.stringify(event.body)])
  }
}

/** What allowed an action, in words. */
export function because(why: AllowedBy): string {
  switch (why.kind) {
    case 'operator':
      return 'it was a person’s own action'
    case 'rules':
      return `by ${why.rules.map(ruleSaid).join('; ')}`
    case 'mode':
      return `the mode is ${why.mode}`
    case 'grant':
      return `by the grant ${why.grant}`
    case 'approval':
      return 'a person said yes'
  }
}

function ruleSaid({ layer, id, effect, reason }: RuleRef): string {
  return `the ${layer} rule ${id}, which says ${effect}${reason === undefined ? '' : ` (${reason})`}`
}

function inRole(role: string | undefined): string {
  return role === undefined ? '' : ` in the role ${role}`
}

function printed(event: Extract<Event, { kind: 'ACTION_OUTPUT' }>): readonly string[] {
  const { stream, data, dropped } = event.body.output
  const gap = dropped > 0 ? [`… ${String(dropped)} bytes were dropped`] : []
  const lines = shown(data).split('\n')
  return [...gap, ...(stream === 'stderr' ? lines.map((line) => `! ${line}`) : lines)]
}

/** The parts of the wall: those that stood, those that did not, and the rest as they are. */
function wallLines(layers: Readonly<Record<string, unknown>>): readonly string[] {
  const names = (state: boolean): string => Object.keys(layers).filter((name) => layers[name] === state).join(', ')
  const rest = Object.entries(layers).filter(([, state]) => typeof state !== 'boolean' && state !== null)
  const [stood, missing] = [names(true), names(false)]
  return [
    ...(stood === '' ? [] : [`behind: ${stood}`]),
    ...(missing === '' ? [] : [`without: ${missing}`]),
    ...rest.map(([name, state]) => `${name}: ${text(state)}`),
  ]
}

function summaryLines(summary: unknown): readonly string[] {
  if (typeof summary !== 'object' || summary === null) return summary === null || summary === undefined ? [] : [text(summary)]
  const { meanwhile, ...rest } = summary as Readonly<Record<string, unknown>> & { readonly meanwhile?: ObservedChanges }
  const said = Object.entries(rest).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${text(value)}`)
  return [...said, ...meanwhileLines(meanwhile ?? {})]
}

/** What changed while a command ran, by whatever did: that is all that is known. */
function meanwhileLines({ changed = [], folders = [], more = false }: ObservedChanges): readonly string[] {
  const inFolders = folders.map((folder) => `names in ${folder === '.' ? 'the project’s folder' : folder} were added or removed`)
  const rest = more ? ['maybe more; not all was looked at or is named'] : []
  return [...changed, ...inFolders, ...rest].map((what) => `changed while it ran: ${what}`)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
