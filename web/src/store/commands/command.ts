/** The commands that a person can send to the daemon, and the request for each. Pure. */
import type { AnswerApprovalRequest, ApprovalId, GovernanceFileKind, GrantId, Hash, MessageId, ProjectId, ProjectMode, SessionId } from '../../proto/index.ts'
import type { ApiRequest } from '../../net/index.ts'

/** A command. */
export type Command =
  | { readonly kind: 'openProject'; readonly path: string }
  | { readonly kind: 'closeProject'; readonly project: ProjectId; readonly name: string }
  | { readonly kind: 'answerApproval'; readonly approval: ApprovalId; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'setMode'; readonly project: ProjectId; readonly mode: ProjectMode; readonly minutes: number | null }
  | { readonly kind: 'trustFile'; readonly project: ProjectId; readonly what: GovernanceFileKind; readonly file: string; readonly hash: Hash }
  | { readonly kind: 'setModel'; readonly project: ProjectId; readonly role: string; readonly model: string }
  | { readonly kind: 'revokeGrant'; readonly grant: GrantId }
  | { readonly kind: 'runtime'; readonly project: ProjectId; readonly command: RuntimeCommand }
  | { readonly kind: 'openSession'; readonly project: ProjectId; readonly role: string; readonly model: string | null }
  | { readonly kind: 'sendMessage'; readonly session: SessionId; readonly text: string }
  | { readonly kind: 'withdrawMessage'; readonly session: SessionId; readonly message: MessageId }
  | { readonly kind: 'cancelTurn' | 'continueTurn' | 'closeSession'; readonly session: SessionId }
  | { readonly kind: 'startTour' }

/** A command for the runtime of a project. */
export type RuntimeCommand = 'run' | 'stop' | 'restart' | 'build'

/** Canceling a turn waits until its commands have ended, which may take their whole grace period. */
const TURN_TIMEOUT_MS = 60_000

/** The request for a command. */
export function requestFor(command: Command): ApiRequest {
  switch (command.kind) {
    case 'openProject':
      return { method: 'POST', path: '/api/projects', body: { path: command.path } }
    case 'closeProject':
      return { method: 'DELETE', path: `/api/projects/${encodeURIComponent(command.project)}` }
    case 'answerApproval':
      return { method: 'POST', path: `/api/approvals/${encodeURIComponent(command.approval)}`, body: command.answer }
    case 'setMode': {
      const { mode, minutes } = command
      return { method: 'PUT', path: `${projectPath(command.project)}/mode`, body: minutes === null ? { mode } : { mode, minutes } }
    }
    case 'trustFile': {
      const { what, file, hash } = command
      return { method: 'POST', path: `${projectPath(command.project)}/trust`, body: { what, file, hash } }
    }
    case 'setModel':
      return {
        method: 'PATCH',
        path: `${projectPath(command.project)}/roles/${encodeURIComponent(command.role)}`,
        body: { model: command.model },
      }
    case 'revokeGrant':
      return { method: 'DELETE', path: `/api/grants/${encodeURIComponent(command.grant)}` }
    case 'runtime':
      // The response does not wait for the end: progress and outcome are in the log.
      return { method: 'POST', path: `${projectPath(command.project)}/runtime/${command.command}?wait=0`, body: {} }
    case 'openSession': {
      const { project, role, model } = command
      return { method: 'POST', path: '/api/sessions', body: model === null ? { project, role } : { project, role, model } }
    }
    case 'sendMessage':
      return { method: 'POST', path: `${sessionPath(command.session)}/messages`, body: { text: command.text } }
    case 'withdrawMessage':
      return { method: 'DELETE', path: `${sessionPath(command.session)}/messages/${encodeURIComponent(command.message)}` }
    case 'cancelTurn':
      return { method: 'POST', path: `${sessionPath(command.session)}/cancel`, body: {}, timeoutMs: TURN_TIMEOUT_MS }
    case 'continueTurn':
      return { method: 'POST', path: `${sessionPath(command.session)}/continue`, body: {}, timeoutMs: TURN_TIMEOUT_MS }
    case 'closeSession':
      return { method: 'DELETE', path: sessionPath(command.session), timeoutMs: TURN_TIMEOUT_MS }
    case 'startTour':
      return { method: 'POST', path: '/api/tour', body: {} }
  }
}

/** The API path of a project. */
export function projectPath(project: ProjectId): string {
  return `/api/projects/${encodeURIComponent(project)}`
}

/** The API path of a session. */
export function sessionPath(session: SessionId): string {
  return `/api/sessions/${encodeURIComponent(session)}`
}
