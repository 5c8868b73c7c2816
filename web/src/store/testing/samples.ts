/** Events and documents for the tests of the store. */
import type { ApprovalAnswer, ApprovalDocument, ApprovalPrompt, Event, Fact, Grant, LogCursor } from '../../proto/index.ts'

/** The cursor of the event with this number, as the daemon would send it. */
export function sampleCursor(seq: number): LogCursor {
  return seq as unknown as LogCursor
}

/** An event with this fact and a made-up envelope. */
export function sampleEvent(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
  return {
    seq: sampleCursor(seq),
    stream: 'sys',
    version: seq,
    id: `e${String(seq)}`,
    at: seq * 1_000_000,
    principal: 'local:ada',
    actor: 'cli',
    command: null,
    cause: null,
    prev: `h${String(seq - 1)}`,
    hash: `h${String(seq)}`,
    ...fact,
    ...more,
  } as Event
}

/** A project was opened. */
export function opened(project: string, name = project): Fact {
  return { kind: 'PROJECT_OPENED', body: { project, name, slug: name.toLowerCase(), path: `/home/ada/${name}` } }
}

/** An approval prompt with some fields replaced. */
export function samplePrompt(more: Partial<ApprovalPrompt> = {}): ApprovalPrompt {
  return {
    name: 'terminal.runCommand',
    params: { command: 'make test' },
    what: 'run `make test`',
    why: 'mode sandbox asks for every command',
    demands: [{ kind: 'run', argv: ['make', 'test'], through: [], program: '/usr/bin/make', hosts: [] }],
    cwd: '.',
    diff: null,
    profile: 'build',
    network: false,
    rules: [],
    gate: null,
    pins: [],
    choices: [{ scope: 'once', remembers: 'nothing' }],
    trust: null,
    ...more,
  }
}

/** A pending approval. */
export function sampleApproval(id: string, more: Partial<ApprovalDocument> = {}): ApprovalDocument {
  return {
    id,
    project: 'p1',
    action: `a-${id}`,
    actionHash: `hash-${id}`,
    class: 'agent',
    role: 'backend',
    session: null,
    question: samplePrompt(),
    principal: 'token:t1',
    actor: 'agent:claude',
    status: 'pending',
    askedAt: 1_000_000,
    expiresAt: 900_000_000,
    resolvedAt: null,
    resolvedBy: null,
    scope: null,
    message: null,
    truncated: false,
    ...more,
  }
}

/** A grant. */
export function sampleGrant(id: string, more: Partial<Grant> = {}): Grant {
  return {
    id,
    project: 'p1',
    approval: 'q1',
    grantee: 'token:t1',
    role: null,
    session: null,
    covers: { kind: 'paths', name: 'fs.writeFile', paths: ['a'] },
    pins: [],
    what: 'write a',
    until: null,
    by: 'local:ada',
    at: 1_000_000,
    revokedAt: null,
    ...more,
  }
}

/** An approval was requested. */
export function requested(approval: string): Fact {
  const { id, truncated, principal, actor, status, askedAt, resolvedAt, resolvedBy, scope, message, ...body } = sampleApproval(approval)
  void [id, truncated, principal, actor, status, askedAt, resolvedAt, resolvedBy, scope, message]
  return { kind: 'APPROVAL_ASKED', body: { ...body, approval } }
}

/** An approval was answered. */
export function answered(approval: string, decision: ApprovalAnswer): Fact {
  const scope = decision === 'allow' ? 'once' : null
  return { kind: 'APPROVAL_ANSWERED', body: { approval, project: 'p1', actionHash: `hash-${approval}`, decision, scope, message: null } }
}

/** A grant was created. */
export function granted(grant: string): Fact {
  const { id, by, at, revokedAt, ...body } = sampleGrant(grant)
  void [id, by, at, revokedAt]
  return { kind: 'GRANT_CREATED', body: { ...body, grant } }
}
