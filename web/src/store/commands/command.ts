/** What a person can ask the daemon for, and the request that does. Pure. */
import type { AnswerApprovalRequest, ApprovalId, GovernanceFileKind, GrantId, Hash, MessageId, ProjectMode, ProjectId, SessionId } from '../../proto/index.ts'
import type { ApiRequest } from '../../net/index.ts'

/** What was asked for. */
export type Wish =
  | { readonly kind: 'open'; readonly path: string }
  | { readonly kind: 'close'; readonly project: ProjectId; readonly name: string }
  | { readonly kind: 'answer'; readonly approval: ApprovalId; readonly answer: AnswerApprovalRequest }
  | { readonly kind: 'mode'; readonly project: ProjectId; readonly mode: ProjectMode; readonly minutes: number | null }
  | { readonly kind: 'trust'; readonly project: ProjectId; readonly what: GovernanceFileKind; readonly file: string; readonly hash: Hash }
  | { readonly kind: 'model'; readonly project: ProjectId; readonly role: string; readonly model: string }
  | { readonly kind: 'revoke'; readonly grant: GrantId }
  | { readonly kind: 'runtime'; readonly project: ProjectId; readonly deed: Deed }
  | { readonly kind: 'session'; readonly project: ProjectId; readonly role: string; readonly model: string | null }
  | { readonly kind: 'say'; readonly session: SessionId; readonly text: string }
  | { readonly kind: 'takeBack'; readonly session: SessionId; readonly message: MessageId }
  | { readonly kind: 'cancel' | 'continue' | 'endSession'; readonly session: SessionId }
  | { readonly kind: 'tour' }

/** What can be done with what a project runs. */
export type Deed = 'run' | 'stop' | 'restart' | 'build'

/** The request for a wish. */
export function requestOf(wish: Wish): ApiRequest {
  switch (wish.kind) {
    case 'open':
      return { method: 'POST', path: '/api/projects', body: { path: wish.path } }
    case 'close':
      return { method: 'DELETE', path: `/api/projects/${encodeURIComponent(wish.project)}` }
    case 'answer':
      return { method: 'POST', path: `/api/approvals/${encodeURIComponent(wish.approval)}`, body: wish.answer }
    case 'mode': {
      const { mode, minutes } = wish
      return { method: 'PUT', path: `${projectPath(wish.project)}/mode`, body: minutes === null ? { mode } : { mode, minutes } }
    }
    case 'trust': {
      const { what, file, hash } = wish
      return { method: 'POST', path: `${projectPath(wish.project)}/trust`, body: { what, file, hash } }
    }
    case 'model':
      return {
        method: 'PATCH',
        path: `${projectPath(wish.project)}/roles/${encodeURIComponent(wish.role)}`,
        body: { model: wish.model },
      }
    case 'revoke':
      return { method: 'DELETE', path: `/api/grants/${encodeURIComponent(wish.grant)}` }
    case 'runtime':
      // Not waited for: how it goes, and how it ended, is in the log.
      return { method: 'POST', path: `${projectPath(wish.project)}/runtime/${wish.deed}?wait=0`, body: {} }
    case 'session': {
      const { project, role, model } = wish
      return { method: 'POST', path: '/api/sessions', body: model === null ? { project, role } : { project, role, model } }
    }
    case 'say':
      return { method: 'POST', path: `${sessionPath(wish.session)}/messages`, body: { text: wish.text } }
    case 'takeBack':
      return { method: 'DELETE', path: `${sessionPath(wish.session)}/messages/${encodeURIComponent(wish.message)}` }
    case 'cancel':
    case 'continue':
      // A turn ends when nothing of it runs any more, which may take a command's grace.
      return { method: 'POST', path: `${sessionPath(wish.session)}/${wish.kind}`, body: {}, timeoutMs: 60_000 }
    case 'endSession':
      return { method: 'DELETE', path: sessionPath(wish.session), timeoutMs: 60_000 }
    case 'tour':
      return { method: 'POST', path: '/api/tour', body: {} }
  }
}

/** The address of a project. */
export function projectPath(project: ProjectId): string {
  return `/api/projects/${encodeURIComponent(project)}`
}

/** The address of a session. */
export function sessionPath(session: SessionId): string {
  return `/api/sessions/${encodeURIComponent(session)}`
}
