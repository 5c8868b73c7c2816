/** A one-line summary of an event. Events of unknown kinds show their body. */
import type { BuildFailed, Event, ActionOutcome, OutputChunk, ProjectId } from '../../proto/index.ts'
import { type NotebookLogEvent, summarizeNotebookEvent } from './notebook-summary.ts'
import { isTruncated } from './truncated.ts'

/** The longest summary, in characters. */
const MAX_LENGTH = 300

/** Looks up the name of a project. */
export type ProjectNameLookup = (project: ProjectId) => string | undefined

/** The summary. It may contain text of an agent: draw it with `UntrustedText` only. */
export function summarizeEvent(event: Event, projectName: ProjectNameLookup): string {
  return shorten(summarize(event, projectName))
}

/** The name of the project whose stream the event belongs to, or null. */
export function projectLabel(event: Event, projectName: ProjectNameLookup): string | null {
  if (!event.stream.startsWith('project/')) return null
  const id = event.stream.slice('project/'.length)
  return projectName(id) ?? id
}

function summarize(event: Event, projectName: ProjectNameLookup): string {
  if (isTruncated(event)) return 'Large body: open the event to read it'
  switch (event.kind) {
    case 'DAEMON_STARTED':
      return `Daemon ${event.body.version} listens on ${event.body.listen}, process ${String(event.body.pid)}`
    case 'DAEMON_STOPPED':
      return `Daemon stopped: ${event.body.reason}`
    case 'LOG_ARCHIVED':
      return `Events ${String(event.body.first)} to ${String(event.body.last)} archived in ${event.body.file}`
    case 'PROJECT_OPENED':
      return `${event.body.name} opened at ${event.body.path}`
    case 'PROJECT_CLOSED':
      return `${projectName(event.body.project) ?? event.body.project} closed`
    case 'TOKEN_CREATED':
      return event.body.label === ''
        ? `New token of class ${event.body.class}`
        : `New token of class ${event.body.class}: ${event.body.label}`
    case 'TOKEN_REVOKED':
      return `Token ${event.body.token} revoked`
    case 'KERNEL_STARTED':
      return `Kernel ${event.body.version} started, process ${String(event.body.pid)}`
    case 'KERNEL_STOPPED':
      return 'Kernel stopped'
    case 'KERNEL_UNRESPONSIVE':
      return 'Kernel not responding'
    case 'KERNEL_RESPONSIVE':
      return 'Kernel responding again'
    case 'KERNEL_LOST':
      return `Kernel lost: ${event.body.why}`
    case 'ACTION_REQUESTED':
      return `Requested to ${event.body.what}`
    case 'ACTION_READ':
      return summarizeRead(event.body)
    case 'ACTION_WAITING':
      return `Waiting for approval ${event.body.approval}`
    case 'APPROVAL_ASKED':
      return `Approval requested: ${event.body.question.what}`
    case 'APPROVAL_ANSWERED':
      return summarizeAnswer(event.body)
    case 'APPROVAL_EXPIRED':
      return 'Approval expired'
    case 'APPROVAL_WITHDRAWN':
      return `Approval withdrawn: ${event.body.why}`
    case 'GRANT_CREATED':
      return `Granted: ${event.body.what}`
    case 'GRANT_REVOKED':
      return `Grant ${event.body.grant} revoked`
    case 'MODE_CHANGED':
      return `Mode changed to ${event.body.mode}`
    case 'ROLE_LOADED':
      return `Role ${event.body.role} read from ${event.body.file}${event.body.trusted ? '' : ', not trusted'}`
    case 'ROLE_REJECTED':
      return `Invalid role: ${event.body.why}`
    case 'FILE_TRUSTED':
      return `${event.body.file} was trusted`
    case 'POLICY_CHANGED':
      return summarizePolicyChange(event.body)
    case 'ACTION_DENIED':
      return `Denied: ${event.body.fault.message} (${event.body.fault.code})`
    case 'ACTION_ALLOWED':
      return `Allowed by ${event.body.by}`
    case 'ACTION_STARTED':
      return `Started with sandbox profile ${event.body.profile}, process ${String(event.body.pid)}`
    case 'ACTION_OUTPUT':
      return summarizeOutput(event.body.output)
    case 'ACTION_FINISHED':
      return describeOutcome(event.body.outcome)
    default:
      return summarizeSessionEvent(event)
  }
}

/** Events of a session. */
function summarizeSessionEvent(event: SessionEvent | RuntimeEvent | NotebookLogEvent): string {
  if (isTruncated(event)) return 'Large body: open the event to read it'
  switch (event.kind) {
    case 'SESSION_OPENED':
      return `Session of ${event.body.role} opened with ${event.body.model}`
    case 'MESSAGE_ADDED':
      return `${event.body.from === 'user' ? 'User' : 'Model'}: ${event.body.parts.map((part) => part.text).join(' ')}`
    case 'TURN_STARTED':
      return event.body.message === null ? 'Turn continued' : 'Turn started'
    case 'TEXT_DELTA':
      return `Text: ${event.body.text}`
    case 'REASONING_DELTA':
      return `Reasoning: ${event.body.text}`
    case 'TOOL_DELTA':
      return `Tool call: ${event.body.tool ?? ''}${event.body.text}`
    case 'ATTEMPT_FAILED':
      return `Provider failed, retrying: ${event.body.why}`
    case 'ATTEMPT_RESTARTED':
      return 'Completion restarted; the draft was discarded'
    case 'TOOL_CALLED':
      return `Calls ${event.body.tool} ${event.body.arguments}`
    case 'TOOL_RETURNED':
      return `Tool call ${event.body.status}: ${event.body.output}`
    case 'USAGE_RECORDED':
      return `${event.body.model} used ${String(event.body.usage.input)} input and ${String(event.body.usage.output)} output tokens`
    case 'MESSAGE_WITHDRAWN':
      return 'Queued message withdrawn'
    case 'TASK_USED':
      return `Handed-off task used ${String(event.body.usage.input)} input and ${String(event.body.usage.output)} output tokens`
    case 'TURN_FINISHED':
      return `Turn finished: ${event.body.reason}`
    case 'TURN_FAILED':
      return `Turn failed: ${event.body.fault.message} (${event.body.fault.code})`
    case 'TURN_CANCELLED':
      return 'Turn cancelled'
    case 'TURN_INTERRUPTED':
      return `Turn interrupted: ${event.body.why}`
    case 'SESSION_COMPACTED':
      return `Conversation compacted: ${event.body.summary}`
    case 'HANDED_OFF':
      return `Handed off to ${event.body.role}`
    case 'SESSION_CLOSED':
      return 'Session closed'
    default:
      return summarizeRuntimeEvent(event)
  }
}

/** Events of builds, dev server, preview and terminal. */
function summarizeRuntimeEvent(event: RuntimeEvent | NotebookLogEvent): string {
  if (isTruncated(event)) return 'Large body: open the event to read it'
  switch (event.kind) {
    case 'BUILD_STARTED':
      return `Build started: ${event.body.build.command}, process ${String(event.body.build.pid)}`
    case 'BUILD_SUCCEEDED':
      return `Build succeeded after ${String(event.body.build.durationMs)} ms`
    case 'BUILD_FAILED':
      return summarizeBuildFailure(event.body.build)
    case 'RUNTIME_STARTING':
      return `Dev server starting: ${event.body.run.command} (${event.body.run.why})`
    case 'RUNTIME_STARTED':
      return `Dev server started: ${event.body.run.command}, process ${String(event.body.run.pid)}`
    case 'RUNTIME_RESTARTED':
      return `Dev server restarted: ${event.body.run.command}, process ${String(event.body.run.pid)}`
    case 'RUNTIME_STOPPING':
      return 'Dev server stopping'
    case 'RUNTIME_STOPPED':
      return `Dev server stopped${describeExit(event.body.run)}`
    case 'RUNTIME_CRASHED':
      return `Dev server crashed${describeExit(event.body.run.crash)}`
    case 'PREVIEW_DETECTED':
      return `Port ${String(event.body.preview.port)} detected`
    case 'PREVIEW_READY':
      return `Preview ready on port ${String(event.body.preview.port)}`
    case 'PREVIEW_LOST':
      return `Preview on port ${String(event.body.preview.port)} lost: ${event.body.preview.why}`
    case 'TERMINAL_OPENED':
      return `Terminal opened: ${event.body.terminal.command}, process ${String(event.body.terminal.pid)}`
    case 'TERMINAL_RESIZED':
      return `Terminal resized to ${String(event.body.terminal.cols)} × ${String(event.body.terminal.rows)}`
    case 'TERMINAL_CLOSED':
      return `Terminal closed${describeExit(event.body.terminal)}`
    default:
      return summarizeNotebookEvent(event)
  }
}

type SessionEvent = Extract<
  Event,
  { kind: `${'SESSION' | 'MESSAGE' | 'TURN' | 'TEXT' | 'REASONING' | 'TOOL' | 'ATTEMPT' | 'USAGE' | 'TASK' | 'HANDED'}_${string}` }
>

type RuntimeEvent = Exclude<
  Extract<Event, { kind: `${'BUILD' | 'RUNTIME' | 'PREVIEW' | 'TERMINAL'}_${string}` }>,
  NotebookLogEvent
>

function summarizeBuildFailure({ end, errors, omitted, why }: BuildFailed): string {
  if (end === 'stopped') return 'Build stopped'
  if (why !== null) return `Build did not start: ${why}`
  const count = errors.filter((error) => error.severity === 'error').length + omitted
  return `Build failed with ${String(count)} ${count === 1 ? 'error' : 'errors'}`
}

function describeExit({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: number | null }): string {
  if (signal !== null) return ` by signal ${String(signal)}`
  return exitCode === null ? '' : ` with exit code ${String(exitCode)}`
}

function summarizeOutput({ stream, data, dropped }: OutputChunk): string {
  const text = describeOutput(data)
  const gap = dropped > 0 ? `(${String(dropped)} bytes dropped) ` : ''
  return `${stream}: ${gap}${text}`
}

type Body<K extends Event['kind']> = Extract<Event, { kind: K }>['body']

/** A read that failed is not one: it says so, and why. */
function summarizeRead({ what, outcome: { fault } }: Body<'ACTION_READ'>): string {
  return fault === null ? `Executed: ${what}` : `Failed to ${what}: ${fault.message} (${fault.code})`
}

function summarizeAnswer({ decision, scope, message }: Body<'APPROVAL_ANSWERED'>): string {
  const answer = decision === 'allow' ? `Allowed, ${scope ?? 'once'}` : 'Denied'
  return message === null ? answer : `${answer}: ${message}`
}

function summarizePolicyChange({ layer, rules, errors, trusted }: Body<'POLICY_CHANGED'>): string {
  const [first] = errors
  if (first !== undefined) return `The ${layer} rules have no effect: ${first}`
  return `The ${layer} rules were loaded: ${String(rules)}${trusted ? '' : ', not trusted'}`
}

/** The output as text, or its size. */
export function describeOutput(data: OutputChunk['data']): string {
  if ('text' in data) return data.text.trimEnd()
  if ('hex' in data) return `${String(data.hex.length / 2)} bytes of binary data`
  return `${String(data.omitted)} bytes: open the event to read them`
}

/** How an action ended. */
export function describeOutcome({ exitCode, signal, durationMs, fault }: ActionOutcome): string {
  const took = `after ${String(durationMs)} ms`
  if (fault !== null) return `Failed ${took}: ${fault.message} (${fault.code})`
  if (signal !== null) return `Terminated by signal ${String(signal)} ${took}`
  return exitCode === null ? `Done ${took}` : `Exited with code ${String(exitCode)} ${took}`
}

/** Shortens a long text and says how much is missing. */
export function shorten(line: string): string {
  if (line.length <= MAX_LENGTH) return line
  return `${line.slice(0, MAX_LENGTH).replace(/[\ud800-\udbff]$/, '')}… (${String(line.length - MAX_LENGTH)} more characters)`
}

/** The color of an event kind, by its subject. */
export function kindTone(kind: string): 'plain' | 'accent' | 'violet' | 'teal' {
  if (kind.startsWith('PROJECT_')) return 'accent'
  if (/^(TOKEN|APPROVAL|GRANT|MODE|ROLE|FILE|POLICY)_/.test(kind)) return 'violet'
  if (kind.startsWith('DAEMON_') || kind.startsWith('KERNEL_')) return 'teal'
  return 'plain'
}
