/** How one event changes the view of a project's runtime. Pure; equal to the daemon's own fold. */
import type { BuildStatus, BuildView, DevServerView, Event, PreviewView, ProjectId, RuntimeStatus, RuntimeView, TerminalView } from '../../proto/index.ts'

const NO_TERMINAL: TerminalView = { status: 'none', action: null, pid: null, cols: 0, rows: 0, offset: null, exitCode: null, signal: null }
const NO_BUILD: BuildView = { status: 'none', action: null, pid: null, command: null, startedAt: null, durationMs: null, exitCode: null, signal: null, errors: [], omitted: 0 }
const NO_PREVIEW: PreviewView = { status: 'none', port: null, url: null, ports: [] }
const NO_SERVER: DevServerView = {
  status: 'stopped', action: null, pid: null, command: null, why: null, restarts: 0, startedAt: null, exitCode: null, signal: null, crash: null, restartAt: null,
}

/** The view of a project in which nothing has run yet. */
export function initialView(project: ProjectId): RuntimeView {
  return { project, status: 'stopped', terminal: NO_TERMINAL, devServer: NO_SERVER, build: NO_BUILD, preview: NO_PREVIEW }
}

/** An event about a project's build, dev server, preview or terminal. */
export type RuntimeEvent = Extract<Event, { kind: `${'BUILD' | 'RUNTIME' | 'PREVIEW' | 'TERMINAL'}_${string}` }>

/** The view after an event. */
export function applyRuntimeEvent(view: RuntimeView, event: RuntimeEvent): RuntimeView {
  return withOverallStatus(applyPart(view, event))
}

/** Derives the overall status from the parts. */
function withOverallStatus(view: RuntimeView): RuntimeView {
  return { ...view, status: overallStatus(view.devServer.status, view.build.status) }
}

function overallStatus(devServer: RuntimeStatus, build: BuildStatus): RuntimeStatus {
  const notRunning = devServer === 'stopped' || devServer === 'crashed' || devServer === 'starting'
  return notRunning && build === 'running' ? 'building' : devServer
}

function applyPart(view: RuntimeView, event: RuntimeEvent): RuntimeView {
  const { devServer, terminal } = view
  switch (event.kind) {
    case 'BUILD_STARTED':
    case 'BUILD_SUCCEEDED':
    case 'BUILD_FAILED':
      return { ...view, build: applyBuildEvent(view.build, event) }
    case 'RUNTIME_STARTING': {
      const { command, why, restarts } = event.body.run
      return { ...view, devServer: { ...NO_SERVER, status: 'starting', action: event.body.action, command, why, restarts } }
    }
    case 'RUNTIME_STARTED':
    case 'RUNTIME_RESTARTED': {
      const { pid, command, restarts } = event.body.run
      return { ...view, devServer: { ...devServer, status: 'running', pid, command, restarts, startedAt: event.at } }
    }
    case 'RUNTIME_STOPPING':
      return { ...view, devServer: { ...devServer, status: 'stopping' } }
    case 'RUNTIME_STOPPED': {
      const { exitCode, signal } = event.body.run
      return { ...view, devServer: { ...devServer, status: 'stopped', pid: null, crash: null, restartAt: null, exitCode, signal }, preview: NO_PREVIEW }
    }
    case 'RUNTIME_CRASHED': {
      const { crash, restartInMs } = event.body.run
      const restartAt = restartInMs === null ? null : event.at + restartInMs * 1000
      const { exitCode, signal } = crash
      return { ...view, devServer: { ...devServer, status: 'crashed', pid: null, exitCode, signal, crash, restartAt }, preview: NO_PREVIEW }
    }
    case 'PREVIEW_DETECTED':
    case 'PREVIEW_READY':
    case 'PREVIEW_LOST': {
      const { port, ports } = event.body.preview
      const status = event.kind === 'PREVIEW_READY' ? 'ready' : event.kind === 'PREVIEW_LOST' ? 'lost' : 'detected'
      return { ...view, preview: { status, port, url: null, ports } }
    }
    case 'TERMINAL_OPENED': {
      const { pid, cols, rows } = event.body.terminal
      return { ...view, terminal: { ...NO_TERMINAL, status: 'live', action: event.body.action, pid, cols, rows } }
    }
    case 'TERMINAL_RESIZED': {
      const { cols, rows } = event.body.terminal
      return { ...view, terminal: { ...terminal, cols, rows } }
    }
    case 'TERMINAL_CLOSED': {
      const { exitCode, signal } = event.body.terminal
      return { ...view, terminal: { ...terminal, status: 'exited', pid: null, exitCode, signal } }
    }
    default:
      // A kind that is newer than this page.
      return view
  }
}

type BuildEvent = Extract<RuntimeEvent, { kind: `BUILD_${string}` }>

function applyBuildEvent(build: BuildView, event: BuildEvent): BuildView {
  switch (event.kind) {
    case 'BUILD_STARTED': {
      const { pid, command } = event.body.build
      return { ...NO_BUILD, status: 'running', action: event.body.action, pid, command, startedAt: event.at }
    }
    case 'BUILD_SUCCEEDED': {
      const { durationMs, warnings } = event.body.build
      return { ...build, status: 'succeeded', pid: null, exitCode: 0, durationMs, errors: warnings }
    }
    case 'BUILD_FAILED': {
      const { end, exitCode, signal, durationMs, errors, omitted } = event.body.build
      return { ...build, status: end === 'stopped' ? 'stopped' : 'failed', pid: null, exitCode, signal, durationMs, errors, omitted }
    }
  }
}

/** The same text as in the daemon. */
const KERNEL_LOST = "the project's kernel was lost, and with it what ran there"

/** The view after the kernel has exited or was replaced: nothing that ran in it is left. */
export function applyKernelExit(view: RuntimeView, at: number, cause: 'lost' | 'stopped'): RuntimeView {
  const { devServer, build, terminal } = view
  const orderly = cause === 'stopped'
  const wasRunning = devServer.status !== 'stopped' && devServer.status !== 'crashed'
  const crash = orderly ? null : { exitCode: null, signal: null, why: KERNEL_LOST, lastLines: [], at }
  return withOverallStatus({
    ...view,
    devServer: wasRunning
      ? { ...devServer, restartAt: null, pid: null, status: orderly ? 'stopped' : 'crashed', crash }
      : { ...devServer, restartAt: null },
    build: build.status === 'running' ? { ...build, status: orderly ? 'stopped' : 'failed', pid: null } : build,
    terminal: terminal.status === 'live' ? { ...terminal, status: 'exited', pid: null } : terminal,
    preview: NO_PREVIEW,
  })
}
