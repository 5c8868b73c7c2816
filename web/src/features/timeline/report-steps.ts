/** The steps of an action's report, derived from its events. Pure. */
import { eventNumber, type ActionId, type AllowedBy, type Approval, type ApprovalId, type Event, type ObservedChanges, type RuleRef } from '../../proto/index.ts'
import { NOTED_KEYS, outcomeNotes } from '../../store/index.ts'
import { describeOutcome, describeOutput } from './event-summary.ts'
import { isTruncated } from './truncated.ts'

/** One step of the report. It may contain text of an agent: draw it with `UntrustedText` only. */
export type ReportStep = {
  /** The number of its first event. */
  readonly number: string
  readonly at: number
  readonly kind: string
  readonly tone: 'plain' | 'good' | 'warn' | 'bad'
  readonly text: string
  /** Lines below the text, such as the output of a command. */
  readonly lines: readonly string[]
}

/** The action that an event is about, or null. */
export function findActionId(event: Event, approvals: ReadonlyMap<ApprovalId, Approval>): ActionId | null {
  const { body } = event
  if ('action' in body && typeof body.action === 'string') return body.action
  if ('approval' in body && typeof body.approval === 'string') return approvals.get(body.approval)?.action ?? null
  return null
}

/** The steps. Consecutive output is one step. */
export function reportSteps(events: readonly Event[]): readonly ReportStep[] {
  const steps: ReportStep[] = []
  for (const event of events) {
    const last = steps.at(-1)
    if (event.kind === 'ACTION_OUTPUT' && last?.kind === event.kind && !isTruncated(event)) {
      steps[steps.length - 1] = { ...last, lines: [...last.lines, ...outputLines(event)] }
    } else steps.push({ number: eventNumber(event), at: event.at, kind: event.kind, ...describeStep(event) })
  }
  return steps
}

type StepContent = Pick<ReportStep, 'tone' | 'text' | 'lines'>

function describeStep(event: Event): StepContent {
  const plain = (text: string, lines: readonly string[] = []): StepContent => ({ tone: 'plain', text, lines })
  if (isTruncated(event)) return plain(`${event.kind}: large body`)
  const who = `${event.actor} (${event.principal})`
  switch (event.kind) {
    case 'ACTION_REQUESTED':
      return plain(`${who} requested to ${event.body.what}${inRole(event.body.role)}`)
    case 'ACTION_READ': {
      const { what, role, why, outcome } = event.body
      const text = `${who} requested to ${what}${inRole(role)}. Allowed: ${describeAllowedBy(why)}. ${describeOutcome(outcome)}`
      return { tone: outcome.fault === null ? 'plain' : 'bad', text, lines: [] }
    }
    case 'ACTION_WAITING':
      return { tone: 'warn', text: 'Waiting for approval', lines: [] }
    case 'APPROVAL_ASKED': {
      const { why, gate, rules } = event.body.question
      return { tone: 'warn', text: `Approval requested: ${why}`, lines: [...(gate === null ? [] : [`Hard gate: ${gate}`]), ...rules.map(describeRule)] }
    }
    case 'APPROVAL_ANSWERED': {
      const { decision, scope, message } = event.body
      if (decision === 'allow') return { tone: 'good', text: `${who} allowed it${scope === null ? '' : `: ${scope}`}`, lines: [] }
      return { tone: 'bad', text: `${who} denied it`, lines: message === null ? [] : [message] }
    }
    case 'APPROVAL_EXPIRED':
      return { tone: 'bad', text: 'The approval expired', lines: [] }
    case 'APPROVAL_WITHDRAWN':
      return plain(`The approval was withdrawn: ${event.body.why}`)
    case 'GRANT_CREATED':
      return plain(`Grant created: ${event.body.what}`)
    case 'ACTION_DENIED':
      return { tone: 'bad', text: `Denied:  ${event.body.fault.message}`, lines: [] }
    case 'ACTION_ALLOWED': {
      const why = event.body.why === undefined ? `by ${event.body.by}` : describeAllowedBy(event.body.why)
      return { tone: 'good', text: `Allowed: ${why}${event.body.profile === undefined ? '' : `, sandbox profile ${event.body.profile}`}`, lines: [] }
    }
    case 'ACTION_STARTED': {
      return plain(`Started as process ${String(event.body.pid)} with sandbox profile ${event.body.profile}`, sandboxLayerLines(event.body.layers))
    }
    case 'ACTION_OUTPUT':
      return plain('Output', outputLines(event))
    case 'TOOL_CALLED':
      return plain(`The model of session ${event.body.session} called ${event.body.tool}`, [event.body.arguments])
    case 'ACTION_FINISHED': {
      const { fault, exitCode, summary } = event.body.outcome
      const good = fault === null && (exitCode === null || exitCode === 0)
      return { tone: good ? 'good' : 'bad', text: describeOutcome(event.body.outcome), lines: summaryLines(summary) }
    }
    default:
      return plain(event.kind, [JSON.stringify(event.body)])
  }
}

/** What allowed an action. */
export function describeAllowedBy(why: AllowedBy): string {
  switch (why.kind) {
    case 'operator':
      return 'a person’s own action'
    case 'rules':
      return `by ${why.rules.map(describeRule).join('; ')}`
    case 'mode':
      return `by mode ${why.mode}`
    case 'grant':
      return `by grant ${why.grant}`
    case 'approval':
      return 'approved by a person'
  }
}

function describeRule({ layer, id, effect, reason }: RuleRef): string {
  return `${layer} rule ${id}: ${effect}${reason === undefined ? '' : ` (${reason})`}`
}

function inRole(role: string | undefined): string {
  return role === undefined ? '' : ` in the role ${role}`
}

function outputLines(event: Extract<Event, { kind: 'ACTION_OUTPUT' }>): readonly string[] {
  const { stream, data, dropped } = event.body.output
  const gap = dropped > 0 ? [`… ${String(dropped)} bytes were dropped`] : []
  const lines = describeOutput(data).split('\n')
  return [...gap, ...(stream === 'stderr' ? lines.map((line) => `! ${line}`) : lines)]
}

/** The sandbox layers: those that were applied, those that were not, and other values. */
function sandboxLayerLines(layers: Readonly<Record<string, unknown>>): readonly string[] {
  const names = (state: boolean): string => Object.keys(layers).filter((name) => layers[name] === state).join(', ')
  const rest = Object.entries(layers).filter(([, state]) => typeof state !== 'boolean' && state !== null)
  const [applied, missing] = [names(true), names(false)]
  return [
    ...(applied === '' ? [] : [`sandbox layers: ${applied}`]),
    ...(missing === '' ? [] : [`missing layers: ${missing}`]),
    ...rest.map(([name, state]) => `${name}: ${toText(state)}`),
  ]
}

function summaryLines(summary: unknown): readonly string[] {
  if (typeof summary !== 'object' || summary === null) return summary === null || summary === undefined ? [] : [toText(summary)]
  const { meanwhile, changed, ...rest } = summary as Readonly<Record<string, unknown>> & { readonly meanwhile?: ObservedChanges }
  const lines = Object.entries(rest).filter(([name, value]) => value !== null && !NOTED_KEYS.has(name)).map(([name, value]) => `${name}: ${toText(value)}`)
  return [...lines, ...changedPathLines(changed), ...observedChangeLines(meanwhile ?? {}), ...outcomeNotes(summary)]
}

/** What a file action did to each path: created, modified, deleted or moved. */
function changedPathLines(changed: unknown): readonly string[] {
  if (!Array.isArray(changed)) return []
  return changed.map((entry: unknown) => {
    const { path, kind, from } = (typeof entry === 'object' && entry !== null ? entry : {}) as Readonly<Record<string, unknown>>
    if (typeof path !== 'string' || typeof kind !== 'string') return `changed: ${toText(entry)}`
    return `${path} was ${kind}${typeof from === 'string' ? ` from ${from}` : ''}`
  })
}

/** The files that changed while a command ran. What changed them is unknown. */
function observedChangeLines({ changed = [], folders = [], more = false }: ObservedChanges): readonly string[] {
  const inFolders = folders.map((folder) => `entries of ${folder === '.' ? 'the project folder' : folder} were added or removed`)
  const rest = more ? ['possibly more; the list is incomplete'] : []
  return [...changed, ...inFolders, ...rest].map((what) => `changed while it ran: ${what}`)
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
