/**
 * What the projects run: a pure fold, the same as the daemon's own.
 *
 * An event whose body is kept beside the log cannot be folded; what it changed
 * is then told by the daemon, with the place in the log up to which it is true.
 */
import type { Event, KernelStatus, ListeningPort, ProjectId, RuntimeStatusResponse, RuntimeView } from '../../proto/index.ts'
import { isTruncated } from '../log/truncated.ts'
import { changed, nothingRan, withoutKernel, type RuntimeEvent } from './runtime-view.ts'

/** A project's kernel process. */
export type KernelNow =
  | { readonly kind: 'none' }
  | { readonly kind: 'connected'; readonly pid: number | null }
  | { readonly kind: 'unresponsive'; readonly pid: number | null }
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'stopped' }

/** What a project runs, and how far in the log that is known. */
export type Runtime = {
  readonly view: RuntimeView
  readonly kernel: KernelNow
  /** The ports that answer, each with the place in the log since which it does. */
  readonly answers: ReadonlyMap<number, number>
  /** Whether its kernel has a terminal to look at, live or ended: none outlives its kernel. */
  readonly shell: boolean
  /** The place of the last event that is in it. */
  readonly seq: number
  /** Whether something in it is kept beside the log, and has to be asked for. */
  readonly sealed: boolean
}

/** Of all projects that ever ran something. */
export type Runtimes = ReadonlyMap<ProjectId, Runtime>

/** Before the first event. */
export const NO_RUNTIMES: Runtimes = new Map()

/** Of a project in which nothing has run yet. */
export function noRuntime(project: ProjectId): Runtime {
  return { view: nothingRan(project), kernel: { kind: 'none' }, answers: new Map(), shell: false, seq: 0, sealed: false }
}

/** Folds one event; kinds that say nothing about what runs change nothing. */
export function foldRuntime(runtimes: Runtimes, event: Event): Runtimes {
  const project = projectOf(event)
  if (project === null) return runtimes
  const known = runtimes.get(project) ?? noRuntime(project)
  if (event.seq <= known.seq) return runtimes
  const after = isTruncated(event) ? { ...known, sealed: true } : afterEvent(known, event)
  const answers = answering(known.answers, after.view.preview.ports, event.seq)
  return new Map(runtimes).set(project, { ...after, answers, seq: event.seq })
}

/** Takes over what the daemon tells, unless the log is further already. */
export function withRuntime(runtimes: Runtimes, state: RuntimeStatusResponse): Runtimes {
  const known = runtimes.get(state.project) ?? noRuntime(state.project)
  // Nothing to add: a new value would only draw everything again.
  if (known.seq > state.seq || !known.sealed) return runtimes
  const { project, status, terminal, devServer, build, preview } = state
  const ports = preview.ports.map(({ port, address, pid, http }) => ({ port, address, pid, http }))
  const view: RuntimeView = {
    project, status, devServer, build,
    // What only the moment knows is not of the log.
    terminal: { ...terminal, offset: null },
    preview: { ...preview, url: null, ports },
  }
  const answers = answering(known.answers, ports, state.seq)
  return new Map(runtimes).set(project, { ...known, view, answers, seq: state.seq, sealed: false })
}

/** Since when the ports answer; whoever did not in between answers anew. */
function answering(before: Runtime['answers'], ports: readonly ListeningPort[], seq: number): Runtime['answers'] {
  return new Map(ports.filter(({ http }) => http).map(({ port }) => [port, before.get(port) ?? seq]))
}

/** How the daemon calls a kernel, from what the log says of it. */
export function kernelStatus(kernel: KernelNow): KernelStatus {
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

function afterEvent(known: Runtime, event: Event): Runtime {
  const pid = known.kernel.kind === 'connected' || known.kernel.kind === 'unresponsive' ? known.kernel.pid : null
  switch (event.kind) {
    case 'KERNEL_STARTED':
      return { ...known, shell: false, kernel: { kind: 'connected', pid: event.body.pid }, view: withoutKernel(known.view, event.at, 'lost') }
    case 'KERNEL_UNRESPONSIVE':
      return { ...known, kernel: { kind: 'unresponsive', pid } }
    case 'KERNEL_RESPONSIVE':
      return { ...known, kernel: { kind: 'connected', pid } }
    case 'KERNEL_LOST':
      return { ...known, shell: false, kernel: { kind: 'lost', why: event.body.why }, view: withoutKernel(known.view, event.at, 'lost') }
    case 'KERNEL_STOPPED':
      return { ...known, shell: false, kernel: { kind: 'stopped' }, view: withoutKernel(known.view, event.at, 'stopped') }
    case 'TERMINAL_OPENED':
      return { ...known, shell: true, view: changed(known.view, event) }
    default:
      return { ...known, view: changed(known.view, event as RuntimeEvent) }
  }
}

const ABOUT = /^(?:KERNEL|BUILD|RUNTIME|PREVIEW|TERMINAL)_/

function projectOf(event: Event): ProjectId | null {
  if (!ABOUT.test(event.kind)) return null
  if ('project' in event.body && typeof event.body.project === 'string') return event.body.project
  return event.stream.startsWith('project/') ? event.stream.slice('project/'.length) : null
}
