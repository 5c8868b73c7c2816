/** Events for the tests of this folder. */
import type { Decision, Event, Fact, Question } from '../proto/index.ts'

/** An event with this fact; the envelope is made up. */
export function sample(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
  return {
    seq,
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

/** A kind that this UI does not know. */
export const UNKNOWN = { kind: 'SOMETHING_NEW', body: { project: 'p1', words: ['alpha', 'beta'] } } as unknown as Fact

/** A project opened. */
export function opened(project: string, name = project): Fact {
  return { kind: 'PROJECT_OPENED', body: { project, name, slug: name.toLowerCase(), path: `/home/ada/${name}` } }
}

/** A project closed. */
export function closed(project: string): Fact {
  return { kind: 'PROJECT_CLOSED', body: { project } }
}

/** A random but repeatable log of any length. */
export function randomLog(length: number, seed: number): readonly Event[] {
  let state = seed
  const draw = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const facts: readonly ((id: string) => Fact)[] = [
    (id) => opened(id),
    (id) => closed(id),
    () => ({ kind: 'DAEMON_STARTED', body: { pid: draw(9), version: '0.1.0', listen: 'x' } }),
    () => ({ kind: 'DAEMON_STOPPED', body: { reason: 'asked' } }),
    (id) => ({ kind: 'TOKEN_REVOKED', body: { token: id } }),
    (id) => asked(`q-${id}`),
    (id) => answered(`q-${id}`, draw(2) === 0 ? 'allow' : 'deny'),
    (id) => ({ kind: 'APPROVAL_EXPIRED', body: { approval: `q-${id}`, project: id } }),
    (id) => sealed(asked(id)),
    (id) => granted(`g-${id}`),
    (id) => ({ kind: 'GRANT_REVOKED', body: { grant: `g-${id}`, project: id } }),
    (id) => ({ kind: 'MODE_CHANGED', body: { project: id, mode: draw(2) === 0 ? 'full' : 'auto', until: null } }),
    (id) => ({ kind: 'ROLE_REJECTED', body: { project: id, file: 'x.md', why: 'no name' } }),
    () => UNKNOWN,
  ]
  return Array.from({ length }, (_, index) => {
    const id = `p${String(draw(4))}`
    const fact = facts[draw(facts.length)]?.(id) ?? UNKNOWN
    return sample(index + 1, fact, draw(2) === 0 ? {} : { stream: `project/${id}`, actor: 'ui' })
  })
}

/** A question, with what matters changed. */
export function question(more: Partial<Question> = {}): Question {
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

/** A question asked. */
export function asked(approval: string, more: Partial<Question> = {}): Fact {
  return {
    kind: 'APPROVAL_ASKED',
    body: {
      approval,
      project: 'p1',
      action: `a-${approval}`,
      actionHash: `hash-${approval}`,
      class: 'agent',
      role: 'backend',
      session: null,
      question: question(more),
      expiresAt: 900_000_000,
    },
  }
}

/** A question answered. */
export function answered(approval: string, decision: Decision, message: string | null = null): Fact {
  const scope = decision === 'allow' ? 'once' : null
  return { kind: 'APPROVAL_ANSWERED', body: { approval, project: 'p1', actionHash: `hash-${approval}`, decision, scope, message } }
}

/** A grant created. */
export function granted(grant: string, until: number | null = null): Fact {
  const covers = { kind: 'paths', name: 'fs.writeFile', paths: ['a'] } as const
  return {
    kind: 'GRANT_CREATED',
    body: { grant, project: 'p1', approval: 'q1', grantee: 'token:t1', role: null, session: null, covers: { ...covers, paths: ['a'] }, pins: [], what: 'write a', until },
  }
}

/** A fact whose body is kept beside the log. */
export function sealed(fact: Fact): Fact {
  return { ...fact, body: { $blob: 'b10b', size: 5000 } } as unknown as Fact
}
