/** Events for the tests of the store. */
import type { ApprovalAnswer, Event, Fact, ApprovalPrompt } from '../../proto/index.ts'

/** An event with this fact and a made-up envelope. */
export function sampleEvent(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
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

/** An event of a kind that this UI does not know. */
export const UNKNOWN = { kind: 'SOMETHING_NEW', body: { project: 'p1', words: ['alpha', 'beta'] } } as unknown as Fact

/** A project was opened. */
export function opened(project: string, name = project): Fact {
  return { kind: 'PROJECT_OPENED', body: { project, name, slug: name.toLowerCase(), path: `/home/ada/${name}` } }
}

/** A project was closed. */
export function closed(project: string): Fact {
  return { kind: 'PROJECT_CLOSED', body: { project } }
}

/** A random, reproducible log. */
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
    () => ({ kind: 'DAEMON_STOPPED', body: { reason: 'requested' } }),
    (id) => ({ kind: 'TOKEN_REVOKED', body: { token: id } }),
    (id) => requested(`q-${id}`),
    (id) => answered(`q-${id}`, draw(2) === 0 ? 'allow' : 'deny'),
    (id) => ({ kind: 'APPROVAL_EXPIRED', body: { approval: `q-${id}`, project: id } }),
    (id) => truncated(requested(id)),
    (id) => granted(`g-${id}`),
    (id) => ({ kind: 'GRANT_REVOKED', body: { grant: `g-${id}`, project: id } }),
    (id) => ({ kind: 'MODE_CHANGED', body: { project: id, mode: draw(2) === 0 ? 'full' : 'auto', until: null } }),
    (id) => ({ kind: 'ROLE_REJECTED', body: { project: id, file: 'x.md', why: 'no name' } }),
    () => UNKNOWN,
  ]
  return Array.from({ length }, (_, index) => {
    const id = `p${String(draw(4))}`
    const fact = facts[draw(facts.length)]?.(id) ?? UNKNOWN
    return sampleEvent(index + 1, fact, draw(2) === 0 ? {} : { stream: `project/${id}`, actor: 'ui' })
  })
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

/** An approval was requested. */
export function requested(approval: string, more: Partial<ApprovalPrompt> = {}): Fact {
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
      question: samplePrompt(more),
      expiresAt: 900_000_000,
    },
  }
}

/** An approval was answered. */
export function answered(approval: string, decision: ApprovalAnswer, message: string | null = null): Fact {
  const scope = decision === 'allow' ? 'once' : null
  return { kind: 'APPROVAL_ANSWERED', body: { approval, project: 'p1', actionHash: `hash-${approval}`, decision, scope, message } }
}

/** A grant was created. */
export function granted(grant: string, until: number | null = null): Fact {
  const covers = { kind: 'paths', name: 'fs.writeFile', paths: ['a'] } as const
  return {
    kind: 'GRANT_CREATED',
    body: { grant, project: 'p1', approval: 'q1', grantee: 'token:t1', role: null, session: null, covers: { ...covers, paths: ['a'] }, pins: [], what: 'write a', until },
  }
}

/** A fact whose body is stored as a blob. */
export function truncated(fact: Fact): Fact {
  return { ...fact, body: { $blob: 'b10b', size: 5000 } } as unknown as Fact
}

const about = { action: 'a1', project: 'p1', report: 1 } as const
const port = (http: boolean) => ({ port: 5173, address: '127.0.0.1', pid: 7, http })
const run = { pid: 7, command: 'npm run dev', profile: 'serve', cause: 'run', restarts: 0 } as const

/** Facts about a project's runtime, as its kernel reports them. */
export const runtimeFacts = {
  starting: (): Fact => ({ kind: 'RUNTIME_STARTING', body: { ...about, run: { command: 'npm run dev', why: 'package.json', cause: 'run', restarts: 0 } } }),
  started: (): Fact => ({ kind: 'RUNTIME_STARTED', body: { ...about, run } }),
  stopping: (): Fact => ({ kind: 'RUNTIME_STOPPING', body: { ...about, run: { cause: 'stop' } } }),
  stopped: (): Fact => ({ kind: 'RUNTIME_STOPPED', body: { ...about, run: { cause: 'stop', exitCode: null, signal: 15 } } }),
  crashed: (restartInMs: number | null): Fact => ({
    kind: 'RUNTIME_CRASHED',
    body: { ...about, run: { phase: 'running', crash: { exitCode: 3, signal: null, why: null, lastLines: ['oops'], at: 1 }, restartInMs } },
  }),
  buildStarted: (): Fact => ({ kind: 'BUILD_STARTED', body: { ...about, build: { pid: 5, command: 'npm run build' } } }),
  buildSucceeded: (): Fact => ({ kind: 'BUILD_SUCCEEDED', body: { ...about, build: { durationMs: 9, warnings: [] } } }),
  buildFailed: (): Fact => ({
    kind: 'BUILD_FAILED',
    body: { ...about, build: { end: 'failed', exitCode: 1, signal: null, why: null, durationMs: 9, errors: [{ file: 'a.c', line: 3, column: 7, message: 'no', severity: 'error' }], omitted: 0 } },
  }),
  detected: (): Fact => ({ kind: 'PREVIEW_DETECTED', body: { ...about, preview: { port: 5173, by: 'output', ports: [port(false)] } } }),
  ready: (): Fact => ({ kind: 'PREVIEW_READY', body: { ...about, preview: { port: 5173, by: 'output', ports: [port(true)] } } }),
  lost: (): Fact => ({ kind: 'PREVIEW_LOST', body: { ...about, preview: { port: 5173, why: 'it hung up', ports: [] } } }),
  opened: (): Fact => ({ kind: 'TERMINAL_OPENED', body: { ...about, terminal: { pid: 9, command: '/bin/bash', profile: 'terminal', cols: 80, rows: 24 } } }),
  resized: (): Fact => ({ kind: 'TERMINAL_RESIZED', body: { ...about, terminal: { cols: 100, rows: 30 } } }),
  closed: (): Fact => ({ kind: 'TERMINAL_CLOSED', body: { ...about, terminal: { cause: 'exit', exitCode: 0, signal: null } } }),
  kernel: (kind: 'KERNEL_STARTED' | 'KERNEL_LOST' | 'KERNEL_STOPPED' | 'KERNEL_UNRESPONSIVE' | 'KERNEL_RESPONSIVE'): Fact =>
    ({ kind, body: { project: 'p1', boot: 'b1', pid: 3, version: '0.1.0', why: 'it died' } }) as Fact,
} as const

/** A random, reproducible log of a runtime; its order need not be possible. */
export function randomRuntimeLog(length: number, seed: number): readonly Event[] {
  const { crashed, kernel, ...others } = runtimeFacts
  const facts: readonly Fact[] = [
    ...Object.values(others).map((make) => make()),
    crashed(null),
    crashed(500),
    kernel('KERNEL_STARTED'),
    kernel('KERNEL_LOST'),
    kernel('KERNEL_STOPPED'),
    kernel('KERNEL_UNRESPONSIVE'),
    truncated(crashed(null)),
  ]
  let state = seed
  return Array.from({ length }, (_, index) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return sampleEvent(index + 1, facts[state % facts.length] ?? UNKNOWN, { stream: 'project/p1', actor: 'kernel' })
  })
}
