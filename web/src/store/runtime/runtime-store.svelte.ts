/**
 * What runs in the projects, and every deed of a person about it.
 *
 * How it stands is folded from the log. Only what the moment knows is asked for:
 * how fast the kernel answers, where a preview is, what was printed.
 */
import type { PreviewUrl, Project, ProjectId, RuntimeStatusResponse } from '../../proto/index.ts'
import { sendRequest, type TerminalDisplay } from '../../net/index.ts'
import { deedOf, type Commands } from '../commands/command-tracker.svelte.ts'
import type { Log } from '../log/event-log.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { noRuntime, withRuntime, type Runtime } from './runtimes.ts'
import { Session } from '../terminal/terminal-connection.svelte.ts'
import { Tail } from './runtime-output.svelte.ts'
import type { Typed } from '../terminal/agent-input.ts'
import { projectPath, type Deed } from '../commands/command.ts'

/** The parts of the store that this one needs. */
export type OperationsParts = {
  readonly log: Log
  readonly commands: Commands
  readonly notices: Notices
}

/** How fast a kernel answered, and when. */
export type Heartbeat = { readonly project: ProjectId; readonly ms: number | null; readonly at: number }

/** Where a preview is entered, or why it is not. */
export type Entrance =
  | { readonly kind: 'here'; readonly url: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Failures that the state of the runtime itself shows, in full. */
const SHOWN: ReadonlySet<string | null> = new Set(['BUILD_FAILED', 'RUNTIME_CRASHED', 'CANCELLED'])

/** See the head of this file. */
export class Operations {
  readonly #parts: OperationsParts
  #heartbeat = $state.raw<Heartbeat | null>(null)
  /** Whose state is being asked for. */
  #asking: ProjectId | null = null

  constructor(parts: OperationsParts) {
    this.#parts = parts
  }

  /** What a project runs. */
  of(project: ProjectId): Runtime {
    return this.#parts.log.folded.runtimes.get(project) ?? noRuntime(project)
  }

  /** How fast the project's kernel answered last, if it was asked. */
  heartbeat(project: ProjectId): Heartbeat | null {
    return this.#heartbeat?.project === project ? this.#heartbeat : null
  }

  /** The deed that the log has not confirmed yet. */
  going(project: ProjectId): Deed | null {
    return deedOf(this.#parts.commands.pending, project)
  }

  /** What agents typed into the project's terminal, the last at the end. */
  typed(project: ProjectId): readonly Typed[] {
    return this.#parts.log.folded.typing.done.get(project) ?? []
  }

  /** Why a deed cannot be done now, or null. */
  blocked(project: Project, deed: Deed): string | null {
    if (this.#parts.log.connection.kind !== 'live') return 'The daemon is not connected'
    if (project.status !== 'open') return 'The project is closed'
    const { status } = this.of(project.id).view
    const going = this.going(project.id)
    if (deed === 'stop') {
      if (going === 'stop' || status === 'stopping') return 'It is being stopped'
      const idle = status === 'stopped' || (status === 'crashed' && this.of(project.id).view.devServer.restartAt === null)
      return idle && going === null ? 'Nothing runs' : null
    }
    if (going !== null) return `Waiting for the end of “${going}”`
    if (deed === 'run' && (status === 'running' || status === 'starting')) return 'It runs already'
    if (deed === 'build' && status === 'building') return 'It is being built'
    return status === 'stopping' ? 'It is being stopped' : null
  }

  /** Does it, unless it cannot be done. What comes of it is in the log. */
  async act(project: Project, deed: Deed): Promise<void> {
    if (this.blocked(project, deed) !== null) return
    const outcome = await this.#parts.commands.send({ kind: 'runtime', project: project.id, deed })
    if (outcome.kind === 'failed' && !SHOWN.has(outcome.code)) this.#parts.notices.add('error', outcome.reason)
  }

  /** Asks the daemon how it stands: the heartbeat, and what the log only names. */
  async refresh(project: ProjectId): Promise<void> {
    if (this.#asking === project) return
    this.#asking = project
    const result = await sendRequest<RuntimeStatusResponse>({ method: 'GET', path: `${projectPath(project)}/runtime/status` })
    if (this.#asking === project) this.#asking = null
    if (result.kind === 'loggedOut') this.#parts.log.loggedOut()
    if (result.kind !== 'ok') return
    const state = result.value
    this.#heartbeat = { project, ms: state.kernel.heartbeatMs, at: Date.now() }
    this.#parts.log.amend((folded) => {
      const runtimes = withRuntime(folded.runtimes, state)
      return runtimes === folded.runtimes ? folded : { ...folded, runtimes }
    })
  }

  /** A way into the preview, good once; `path` is where it leads. */
  async entrance(project: ProjectId, port: number | null, path: string): Promise<Entrance> {
    const query = port === null ? '' : `?port=${String(port)}`
    const result = await sendRequest<PreviewUrl>({ method: 'GET', path: `${projectPath(project)}/preview/url${query}` })
    switch (result.kind) {
      case 'ok':
        if (result.value.url === null) return { kind: 'closed' }
        return { kind: 'here', url: path === '/' ? result.value.url : `${result.value.url}&to=${encodeURIComponent(path)}` }
      case 'refused':
        return result.problem.code === 'PREVIEW_DOWN' ? { kind: 'closed' } : { kind: 'failed', reason: result.problem.error }
      case 'unreachable':
        return { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.` }
      case 'loggedOut':
        this.#parts.log.loggedOut()
        return { kind: 'closed' }
    }
  }

  /** The end of what the project printed; to be started and stopped. */
  tail(project: ProjectId): Tail {
    const busy = (): boolean => {
      const { status } = this.of(project).view
      return status !== 'stopped' && status !== 'crashed'
    }
    return new Tail(project, busy, () => this.#parts.log.loggedOut())
  }

  /** A seat at the project's terminal, drawn on this display. */
  session(project: ProjectId, display: TerminalDisplay): Session {
    return new Session(project, display, () => this.#parts.log.loggedOut())
  }
}
