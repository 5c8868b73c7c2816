/**
 * What the projects run, and the commands for it.
 *
 * The state is in documents. Only what the log does not hold is fetched: the kernel's
 * heartbeat, the URL of a preview, and the output.
 */
import type { PreviewUrl, Project, ProjectId, RuntimeStatusResponse, TypedInput } from '../../proto/index.ts'
import { sendRequest, type TerminalDisplay } from '../../net/index.ts'
import { projectPath, type RuntimeCommand } from '../commands/command.ts'
import { pendingRuntimeCommand, type CommandTracker } from '../commands/command-tracker.svelte.ts'
import type { DocumentFollower } from '../documents/document-follower.svelte.ts'
import type { Notices } from '../notices/notices.svelte.ts'
import { TerminalConnection } from '../terminal/terminal-connection.svelte.ts'
import { RuntimeOutput } from './runtime-output.svelte.ts'
import { runtimeState, type RuntimeState } from './runtimes.ts'

/** The parts of the store that this one needs. */
export type RuntimeStoreDeps = {
  readonly documents: DocumentFollower
  readonly commands: CommandTracker
  readonly notices: Notices
}

/** The round trip time of a kernel's last heartbeat. */
export type KernelHeartbeat = { readonly project: ProjectId; readonly ms: number | null; readonly at: number }

/** A URL that opens a preview once, or why there is none. */
export type PreviewEntry =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Failures that the page already shows as the state of the runtime. */
const SHOWN_AS_STATE: ReadonlySet<string | null> = new Set(['BUILD_FAILED', 'RUNTIME_CRASHED', 'CANCELLED'])

/** See the head of this file. */
export class RuntimeStore {
  readonly #deps: RuntimeStoreDeps
  #heartbeat = $state.raw<KernelHeartbeat | null>(null)
  /** The project whose status is being fetched. */
  #refreshing: ProjectId | null = null

  constructor(deps: RuntimeStoreDeps) {
    this.#deps = deps
  }

  /** The runtime of a project. */
  runtimeOf(project: ProjectId): RuntimeState {
    const { runtimes, kernels } = this.#deps.documents.views
    return runtimeState(project, runtimes.get(project), kernels.get(project))
  }

  /** The last heartbeat of the project's kernel, if one was fetched. */
  heartbeatOf(project: ProjectId): KernelHeartbeat | null {
    return this.#heartbeat?.project === project ? this.#heartbeat : null
  }

  /** The command that the log has not confirmed yet, or null. */
  pendingCommand(project: ProjectId): RuntimeCommand | null {
    return pendingRuntimeCommand(this.#deps.commands.pending, project)
  }

  /** What agents typed into the project's terminal, the latest last. */
  agentInputOf(project: ProjectId): readonly TypedInput[] {
    return this.#deps.documents.views.agentInput.get(project)?.typed ?? []
  }

  /** Why a command cannot be sent now, or null. */
  blockedReason(project: Project, command: RuntimeCommand): string | null {
    if (this.#deps.documents.connection.kind !== 'live') return 'The daemon is not connected'
    if (project.status !== 'open') return 'The project is closed'
    const { status } = this.runtimeOf(project.id).view
    const pending = this.pendingCommand(project.id)
    if (command === 'stop') {
      if (pending === 'stop' || status === 'stopping') return 'Already stopping'
      const idle = status === 'stopped' || (status === 'crashed' && this.runtimeOf(project.id).view.devServer.restartAt === null)
      return idle && pending === null ? 'Nothing is running' : null
    }
    if (pending !== null) return `Waiting for “${pending}” to finish`
    if (command === 'run' && (status === 'running' || status === 'starting')) return 'Already running'
    if (command === 'build' && status === 'building') return 'Already building'
    return status === 'stopping' ? 'Already stopping' : null
  }

  /** Sends a command unless it is blocked. Its effect shows in the log. */
  async send(project: Project, command: RuntimeCommand): Promise<void> {
    if (this.blockedReason(project, command) !== null) return
    const outcome = await this.#deps.commands.send({ kind: 'runtime', project: project.id, command })
    if (outcome.kind === 'failed' && !SHOWN_AS_STATE.has(outcome.code)) this.#deps.notices.add('error', outcome.reason)
  }

  /** Fetches the heartbeat of the project's kernel. */
  async refresh(project: ProjectId): Promise<void> {
    if (this.#refreshing === project) return
    this.#refreshing = project
    const result = await sendRequest<RuntimeStatusResponse>({ method: 'GET', path: `${projectPath(project)}/runtime/status` })
    if (this.#refreshing === project) this.#refreshing = null
    if (result.kind === 'loggedOut') this.#deps.documents.setLoggedOut()
    if (result.kind !== 'ok') return
    this.#heartbeat = { project, ms: result.value.kernel.heartbeatMs, at: Date.now() }
  }

  /** Requests a URL that opens the preview once, at a path. */
  async requestPreview(project: ProjectId, port: number | null, path: string): Promise<PreviewEntry> {
    const query = port === null ? '' : `?port=${String(port)}`
    const result = await sendRequest<PreviewUrl>({ method: 'GET', path: `${projectPath(project)}/preview/url${query}` })
    switch (result.kind) {
      case 'ok':
        if (result.value.url === null) return { kind: 'unavailable' }
        return { kind: 'ready', url: path === '/' ? result.value.url : `${result.value.url}&to=${encodeURIComponent(path)}` }
      case 'refused':
        return result.problem.code === 'PREVIEW_DOWN' ? { kind: 'unavailable' } : { kind: 'failed', reason: result.problem.error }
      case 'unreachable':
        return { kind: 'failed', reason: `The daemon did not respond: ${result.reason}.` }
      case 'loggedOut':
        this.#deps.documents.setLoggedOut()
        return { kind: 'unavailable' }
    }
  }

  /** A follower of the project's output, to be started and stopped. */
  openOutput(project: ProjectId): RuntimeOutput {
    const isBusy = (): boolean => {
      const { status } = this.runtimeOf(project).view
      return status !== 'stopped' && status !== 'crashed'
    }
    return new RuntimeOutput(project, isBusy, () => this.#deps.documents.setLoggedOut())
  }

  /** A connection to the project's terminal that draws on this display. */
  openTerminal(project: ProjectId, display: TerminalDisplay): TerminalConnection {
    return new TerminalConnection(project, display, () => this.#deps.documents.setLoggedOut())
  }
}
