/** What the projects run, from their documents. Pure. */
import type { KernelView, LogCursor, ProjectId, RuntimeView } from '../../proto/index.ts'

/** The state of a project's kernel process. */
export type KernelState =
  | { readonly kind: 'none' }
  | { readonly kind: 'connected'; readonly pid: number }
  | { readonly kind: 'unresponsive'; readonly pid: number }
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'stopped' }

/** What a project runs. */
export type RuntimeState = {
  readonly view: RuntimeView
  readonly kernel: KernelState
  /** The ports that respond over HTTP, each with the position since which it does. */
  readonly respondingPorts: ReadonlyMap<number, LogCursor>
  /** Whether the kernel has a terminal, live or exited: no terminal outlives its kernel. */
  readonly hasTerminal: boolean
}

/** The runtime of a project, as its documents say. */
export function runtimeState(project: ProjectId, view: RuntimeView | undefined, kernel: KernelView | undefined): RuntimeState {
  const known = view ?? initialView(project)
  return {
    view: known,
    kernel: kernelState(kernel),
    respondingPorts: new Map(Object.entries(known.respondingSince ?? {}).map(([port, since]) => [Number(port), since])),
    hasTerminal: known.hasTerminal,
  }
}

/** The state of a kernel, as its document says. */
export function kernelState(kernel: KernelView | undefined): KernelState {
  switch (kernel?.status) {
    case undefined:
      return { kind: 'none' }
    case 'connected':
    case 'unresponsive':
      return { kind: kernel.status, pid: kernel.pid }
    case 'lost':
      return { kind: 'lost', why: kernel.why ?? 'the reason is not known' }
    case 'stopped':
      return { kind: 'stopped' }
  }
}

/** The view of a project in which nothing has run yet. */
function initialView(project: ProjectId): RuntimeView {
  return {
    project,
    status: 'stopped',
    terminal: { status: 'none', action: null, pid: null, cols: 0, rows: 0, offset: null, exitCode: null, signal: null },
    devServer: {
      status: 'stopped', action: null, pid: null, command: null, why: null, restarts: 0, startedAt: null, exitCode: null, signal: null, crash: null, restartAt: null,
    },
    build: { status: 'none', action: null, pid: null, command: null, startedAt: null, durationMs: null, exitCode: null, signal: null, errors: [], omitted: 0 },
    preview: { status: 'none', port: null, url: null, ports: [] },
    hasTerminal: false,
  }
}
