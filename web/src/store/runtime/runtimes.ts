/**
 * What the projects run, folded from the log as the daemon does. Pure.
 *
 * A truncated event cannot be folded. Its effect is fetched from the daemon, with the
 * seq up to which the response is current.
 */
import type { Event, KernelStatus, ListeningPort, ProjectId, RuntimeStatusResponse, RuntimeView } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'
import { applyKernelExit, applyRuntimeEvent, initialView, type RuntimeEvent } from './runtime-view.ts'

/** The state of a project's kernel process. */
export type KernelState =
  | { readonly kind: 'none' }
  | { readonly kind: 'connected'; readonly pid: number | null }
  | { readonly kind: 'unresponsive'; readonly pid: number | null }
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'stopped' }

/** What a project runs, and up to which seq that is known. */
export type RuntimeState = {
  readonly view: RuntimeView
  readonly kernel: KernelState
  /** The ports that respond over HTTP, each with the seq since which it does. */
  readonly respondingPorts: ReadonlyMap<number, number>
  /** Whether the kernel has a terminal, live or exited: no terminal outlives its kernel. */
  readonly hasTerminal: boolean
  /** The seq of the last folded event. */
  readonly seq: number
  /** Whether an event was truncated, so that the status must be fetched. */
  readonly truncated: boolean
}

/** The runtimes of all projects that ever ran something. */
export type Runtimes = ReadonlyMap<ProjectId, RuntimeState>

/** The state before the first event. */
export const NO_RUNTIMES: Runtimes = new Map()

/** The runtime of a project in which nothing has run yet. */
export function initialRuntime(project: ProjectId): RuntimeState {
  return { view: initialView(project), kernel: { kind: 'none' }, respondingPorts: new Map(), hasTerminal: false, seq: 0, truncated: false }
}

/** Folds one event; events about other things change nothing. */
export function foldRuntimes(runtimes: Runtimes, event: Event): Runtimes {
  const project = projectOf(event)
  if (project === null) return runtimes
  const known = runtimes.get(project) ?? initialRuntime(project)
  if (event.seq <= known.seq) return runtimes
  const after = isTruncated(event) ? { ...known, truncated: true } : applyEvent(known, event)
  const respondingPorts = updateRespondingPorts(known.respondingPorts, after.view.preview.ports, event.seq)
  return new Map(runtimes).set(project, { ...after, respondingPorts, seq: event.seq })
}

/** Applies a fetched status, unless the log is newer. */
export function withRuntime(runtimes: Runtimes, response: RuntimeStatusResponse): Runtimes {
  const known = runtimes.get(response.project) ?? initialRuntime(response.project)
  // Without a truncated event there is nothing to add: a new value would only cause a redraw.
  if (known.seq > response.seq || !known.truncated) return runtimes
  const { project, status, terminal, devServer, build, preview } = response
  const ports = preview.ports.map(({ port, address, pid, http }) => ({ port, address, pid, http }))
  const view: RuntimeView = {
    project, status, devServer, build,
    // These fields are not in the log.
    terminal: { ...terminal, offset: null },
    preview: { ...preview, url: null, ports },
  }
  const respondingPorts = updateRespondingPorts(known.respondingPorts, ports, response.seq)
  return new Map(runtimes).set(project, { ...known, view, respondingPorts, seq: response.seq, truncated: false })
}

/** The seq since which each port responds. A port that stopped responding in between starts anew. */
function updateRespondingPorts(before: RuntimeState['respondingPorts'], ports: readonly ListeningPort[], seq: number): RuntimeState['respondingPorts'] {
  return new Map(ports.filter(({ http }) => http).map(({ port }) => [port, before.get(port) ?? seq]))
}

/** The daemon's name for the state of a kernel. */
export function kernelStatus(kernel: KernelState): KernelStatus {
  switch (kernel.kind) {
    case 'connected':
      return 'connected'
    case 'unresponsive':
      return 'unresponsive'
    case 'lost':
      return 'lost'
    case 'none':
    case 'stopped':
      return 'stopped'
  }
}

function applyEvent(known: RuntimeState, event: Event): RuntimeState {
  const pid = known.kernel.kind === 'connected' || known.kernel.kind === 'unresponsive' ? known.kernel.pid : null
  switch (event.kind) {
    case 'KERNEL_STARTED':
      return { ...known, hasTerminal: false, kernel: { kind: 'connected', pid: event.body.pid }, view: applyKernelExit(known.view, event.at, 'lost') }
    case 'KERNEL_UNRESPONSIVE':
      return { ...known, kernel: { kind: 'unresponsive', pid } }
    case 'KERNEL_RESPONSIVE':
      return { ...known, kernel: { kind: 'connected', pid } }
    case 'KERNEL_LOST':
      return { ...known, hasTerminal: false, kernel: { kind: 'lost', why: event.body.why }, view: applyKernelExit(known.view, event.at, 'lost') }
    case 'KERNEL_STOPPED':
      return { ...known, hasTerminal: false, kernel: { kind: 'stopped' }, view: applyKernelExit(known.view, event.at, 'stopped') }
    case 'TERMINAL_OPENED':
      return { ...known, hasTerminal: true, view: applyRuntimeEvent(known.view, event) }
    default:
      return { ...known, view: applyRuntimeEvent(known.view, event as RuntimeEvent) }
  }
}

const RUNTIME_KIND = /^(?:KERNEL|BUILD|RUNTIME|PREVIEW|TERMINAL)_/

function projectOf(event: Event): ProjectId | null {
  if (!RUNTIME_KIND.test(event.kind)) return null
  if ('project' in event.body && typeof event.body.project === 'string') return event.body.project
  return event.stream.startsWith('project/') ? event.stream.slice('project/'.length) : null
}
