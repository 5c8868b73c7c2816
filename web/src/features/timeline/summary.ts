/** One line that says what an event is about. Kinds we do not know show their body. */
import type { BuildFailed, Event, ActionOutcome, OutputChunk, ProjectId } from '../../proto/index.ts'

/** The longest line; the whole body is one click away. */
const LIMIT = 300

/** The name of a project, if the log knows it. */
export type NameOf = (project: ProjectId) => string | undefined

/** The line. It may hold text that an agent wrote: draw it with `Text` only. */
export function summary(event: Event, nameOf: NameOf): string {
  return shorten(sentence(event, nameOf))
}

/** The project whose stream the event is of, by name; null when it is of none. */
export function projectOf(event: Event, nameOf: NameOf): string | null {
  if (!event.stream.startsWith('project/')) return null
  const id = event.stream.slice('project/'.length)
  return nameOf(id) ?? id
}

function sentence(event: Event, nameOf: NameOf): string {
  if ('$blob' in event.body) return 'A large body, kept beside the log'
  switch (event.kind) {
    case 'DAEMON_STARTED':
      return `Daemon ${event.body.version} listens on ${event.body.listen}, process ${String(event.body.pid)}`
    case 'DAEMON_STOPPED':
      return `Daemon stopped: ${event.body.reason}`
    case 'PROJECT_OPENED':
      return `${event.body.name} opened at ${event.body.path}`
    case 'PROJECT_CLOSED':
      return `${nameOf(event.body.project) ?? event.body.project} closed`
    case 'TOKEN_CREATED':
      return event.body.label === ''
        ? `New token of class ${event.body.class}`
        : `New token of class ${event.body.class}: ${event.body.label}`
    case 'TOKEN_REVOKED':
      return `Token ${event.body.token} revoked`
    case 'KERNEL_STARTED':
      return `Kernel ${event.body.version} answers, process ${String(event.body.pid)}`
    case 'KERNEL_STOPPED':
      return 'Kernel stopped'
    case 'KERNEL_UNRESPONSIVE':
      return 'Kernel does not answer'
    case 'KERNEL_RESPONSIVE':
      return 'Kernel answers again'
    case 'KERNEL_LOST':
      return `Kernel lost: ${event.body.why}`
    case 'ACTION_REQUESTED':
      return `Asked to ${event.body.what}`
    case 'ACTION_READ':
      return `Did ${event.body.what}`
    case 'ACTION_WAITING':
      return `Waits for the answer to ${event.body.approval}`
    case 'APPROVAL_ASKED':
      return `A person is asked: may it ${event.body.question.what}?`
    case 'APPROVAL_ANSWERED':
      return answered(event.body)
    case 'APPROVAL_EXPIRED':
      return 'Nobody answered in time'
    case 'APPROVAL_WITHDRAWN':
      return `The question fell away: ${event.body.why}`
    case 'GRANT_CREATED':
      return `Granted: ${event.body.what}`
    case 'GRANT_REVOKED':
      return `Grant ${event.body.grant} revoked`
    case 'MODE_CHANGED':
      return `Mode is ${event.body.mode} now`
    case 'ROLE_LOADED':
      return `Role ${event.body.role} read from ${event.body.file}${event.body.trusted ? '' : ', not trusted'}`
    case 'ROLE_REJECTED':
      return `No role: ${event.body.why}`
    case 'FILE_TRUSTED':
      return `${event.body.file} is trusted as it is`
    case 'POLICY_CHANGED':
      return rulesRead(event.body)
    case 'ACTION_DENIED':
      return `Denied: ${event.body.fault.message} (${event.body.fault.code})`
    case 'ACTION_ALLOWED':
      return `Allowed by ${event.body.by}`
    case 'ACTION_STARTED':
      return `Runs under profile ${event.body.profile}, process ${String(event.body.pid)}`
    case 'ACTION_OUTPUT':
      return printed(event.body.output)
    case 'ACTION_FINISHED':
      return ended(event.body.outcome)
    default:
      return talking(event)
  }
}

/** What is said in a session with a model. */
function talking(event: TalkEvent | RuntimeEvent): string {
  if ('$blob' in event.body) return 'A large body, kept beside the log'
  switch (event.kind) {
    case 'SESSION_OPENED':
      return `Session of ${event.body.role} opened with ${event.body.model}`
    case 'MESSAGE_ADDED':
      return `${event.body.from === 'user' ? 'Said' : 'Answered'}: ${event.body.parts.map((part) => part.text).join(' ')}`
    case 'TURN_STARTED':
      return event.body.message === null ? 'Turn goes on' : 'Turn began'
    case 'TEXT_DELTA':
      return `Says: ${event.body.text}`
    case 'REASONING_DELTA':
      return `Thinks: ${event.body.text}`
    case 'TOOL_DELTA':
      return `Writes a call: ${event.body.tool ?? ''}${event.body.text}`
    case 'ATTEMPT_FAILED':
      return `Provider failed and is asked again: ${event.body.why}`
    case 'ATTEMPT_RESTARTED':
      return 'What the model said so far is void; it begins anew'
    case 'TOOL_CALLED':
      return `Calls ${event.body.tool} ${event.body.arguments}`
    case 'TOOL_RETURNED':
      return `Call ${event.body.status}: ${event.body.output}`
    case 'USAGE_RECORDED':
      return `${event.body.model} used ${String(event.body.usage.input)} and ${String(event.body.usage.output)} tokens`
    case 'MESSAGE_WITHDRAWN':
      return 'A message that waited was taken back'
    case 'TASK_USED':
      return `A task it handed over used ${String(event.body.usage.input)} and ${String(event.body.usage.output)} tokens`
    case 'TURN_FINISHED':
      return `Turn finished: ${event.body.reason}`
    case 'TURN_FAILED':
      return `Turn failed: ${event.body.fault.message} (${event.body.fault.code})`
    case 'TURN_CANCELLED':
      return 'Turn cancelled'
    case 'TURN_INTERRUPTED':
      return `Turn interrupted: ${event.body.why}`
    case 'SESSION_COMPACTED':
      return `What came before is summarized for the model: ${event.body.summary}`
    case 'HANDED_OFF':
      return `Handed to ${event.body.role}`
    case 'SESSION_CLOSED':
      return 'Session closed'
    default:
      return running(event)
  }
}

/** What a project runs: builds, dev server, preview, terminal. */
function running(event: RuntimeEvent): string {
  if ('$blob' in event.body) return 'A large body, kept beside the log'
  switch (event.kind) {
    case 'BUILD_STARTED':
      return `Build started: ${event.body.build.command}, process ${String(event.body.build.pid)}`
    case 'BUILD_SUCCEEDED':
      return `Build succeeded after ${String(event.body.build.durationMs)} ms`
    case 'BUILD_FAILED':
      return buildFailed(event.body.build)
    case 'RUNTIME_STARTING':
      return `Starts ${event.body.run.command}: ${event.body.run.why}`
    case 'RUNTIME_STARTED':
      return `Runs ${event.body.run.command}, process ${String(event.body.run.pid)}`
    case 'RUNTIME_RESTARTED':
      return `Runs ${event.body.run.command} again, process ${String(event.body.run.pid)}`
    case 'RUNTIME_STOPPING':
      return 'Dev server was told to end'
    case 'RUNTIME_STOPPED':
      return `Dev server stopped${exit(event.body.run)}`
    case 'RUNTIME_CRASHED':
      return `Dev server crashed${exit(event.body.run.crash)}`
    case 'PREVIEW_DETECTED':
      return `Something listens on port ${String(event.body.preview.port)}`
    case 'PREVIEW_READY':
      return `Preview answers on port ${String(event.body.preview.port)}`
    case 'PREVIEW_LOST':
      return `Preview on port ${String(event.body.preview.port)} is gone: ${event.body.preview.why}`
    case 'TERMINAL_OPENED':
      return `Terminal opened: ${event.body.terminal.command}, process ${String(event.body.terminal.pid)}`
    case 'TERMINAL_RESIZED':
      return `Terminal is ${String(event.body.terminal.cols)} × ${String(event.body.terminal.rows)} now`
    case 'TERMINAL_CLOSED':
      return `Terminal closed${exit(event.body.terminal)}`
    default:
      return JSON.stringify((event satisfies never as Event).body)
  }
}

type TalkEvent = Extract<
  Event,
  { kind: `${'SESSION' | 'MESSAGE' | 'TURN' | 'TEXT' | 'REASONING' | 'TOOL' | 'ATTEMPT' | 'USAGE' | 'TASK' | 'HANDED'}_${string}` }
>

type RuntimeEvent = Extract<Event, { kind: `${'BUILD' | 'RUNTIME' | 'PREVIEW' | 'TERMINAL'}_${string}` }>

function buildFailed({ end, errors, omitted, why }: BuildFailed): string {
  if (end === 'stopped') return 'Build stopped'
  if (why !== null) return `Build did not start: ${why}`
  const count = errors.filter((error) => error.severity === 'error').length + omitted
  return `Build failed with ${String(count)} ${count === 1 ? 'error' : 'errors'}`
}

function exit({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: number | null }): string {
  if (signal !== null) return ` by signal ${String(signal)}`
  return exitCode === null ? '' : ` with exit code ${String(exitCode)}`
}

function printed({ stream, data, dropped }: OutputChunk): string {
  const text = shown(data)
  const gap = dropped > 0 ? `(${String(dropped)} bytes dropped) ` : ''
  return `${stream}: ${gap}${text}`
}

type Body<K extends Event['kind']> = Exclude<Extract<Event, { kind: K }>['body'], { $blob: unknown }>

function answered({ decision, scope, message }: Body<'APPROVAL_ANSWERED'>): string {
  const said = decision === 'allow' ? `Allowed, ${scope ?? 'once'}` : 'Denied'
  return message === null ? said : `${said}: ${message}`
}

function rulesRead({ layer, rules, errors, trusted }: Body<'POLICY_CHANGED'>): string {
  const [first] = errors
  if (first !== undefined) return `The ${layer} rules have no effect: ${first}`
  return `The ${layer} rules were read: ${String(rules)}${trusted ? '' : ', not trusted'}`
}

/** What was printed, or how much of it there is. */
export function shown(data: OutputChunk['data']): string {
  if ('text' in data) return data.text.trimEnd()
  if ('hex' in data) return `${String(data.hex.length / 2)} bytes that are no text`
  return `${String(data.blob.size)} bytes, kept beside the log`
}

/** How an action ended. */
export function ended({ exitCode, signal, durationMs, fault }: ActionOutcome): string {
  const took = `after ${String(durationMs)} ms`
  if (fault !== null) return `Failed ${took}: ${fault.message} (${fault.code})`
  if (signal !== null) return `Ended by signal ${String(signal)} ${took}`
  return exitCode === null ? `Done ${took}` : `Ended with ${String(exitCode)} ${took}`
}

/** Cuts a long line, and says how much is missing. */
export function shorten(line: string): string {
  if (line.length <= LIMIT) return line
  return `${line.slice(0, LIMIT).replace(/[\ud800-\udbff]$/, '')}… (${String(line.length - LIMIT)} more characters)`
}

/** The colour of a kind: by what it is about. */
export function tone(kind: string): 'plain' | 'accent' | 'violet' | 'teal' {
  if (kind.startsWith('PROJECT_')) return 'accent'
  if (/^(TOKEN|APPROVAL|GRANT|MODE|ROLE|FILE|POLICY)_/.test(kind)) return 'violet'
  if (kind.startsWith('DAEMON_') || kind.startsWith('KERNEL_')) return 'teal'
  return 'plain'
}
