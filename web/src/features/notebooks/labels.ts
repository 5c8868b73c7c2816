/** What statuses and reasons are called. Pure. */
import type { Execution, NotebookCommand, RuntimeEndReason, RuntimeSession } from '../../proto/index.ts'

/** Why the runtime of this page ended. */
export function endLabel(reason: RuntimeEndReason): string {
  switch (reason) {
    case 'displaced':
      return 'Another runtime has taken over'
    case 'timeout':
      return 'The runtime of this page was not heard of for too long'
    case 'error':
      return 'The runtime of this page has failed'
    case 'restart':
      return 'The runtime of this page is being restarted'
    case 'shutdown':
      return 'The runtime of this page was stopped'
  }
}

/** The status of the active runtime, or that there is none. */
export function runtimeLabel(session: RuntimeSession | null): string {
  return session === null ? 'No runtime' : `${session.runtimeType}: ${session.status}`
}

/** What is written beside a cell. */
export function executionLabel(execution: Execution | null): string {
  if (execution === null) return '[ ]'
  return execution.status === 'finished' ? `[${String(execution.count)}]` : '[*]'
}

/** The status of an execution in words. */
export function executionStatus(execution: Execution): string {
  switch (execution.status) {
    case 'queued':
      return 'waiting for a runtime'
    case 'assigned':
      return 'starting'
    case 'running':
      return execution.cancelling === true ? 'being interrupted' : 'running'
    case 'finished':
      return { ok: 'done', error: 'failed', cancelled: 'cancelled', lost: 'lost with its runtime' }[execution.outcome ?? 'ok']
  }
}

/** The texts in commands that were rejected, so that none is lost. */
export function rejectedTexts(commands: readonly NotebookCommand[]): readonly string[] {
  return commands.flatMap((command) => {
    if (command.name === 'replaceCell' || command.name === 'createCell') return [command.args.source]
    if (command.name !== 'editCell' || !Array.isArray(command.args.changes)) return []
    return command.args.changes.flatMap((part: unknown) => (Array.isArray(part) && part.length > 1 ? [part.slice(1).map(String).join('\n')] : []))
  })
}
