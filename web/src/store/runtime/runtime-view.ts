/** How one event changes what a project runs. Pure; says the same as the fold of the daemon. */
import type { BuildStatus, BuildView, DevServerView, Event, PreviewView, ProjectId, RuntimeStatus, RuntimeView, TerminalView } from '../../proto/index.ts'

const NO_TERMINAL: TerminalView = { status: 'none', action: null, pid: null, cols: 0, rows: 0, offset: null, exitCode: null, signal: null }
const NO_BUILD: BuildView = { status: 'none', action: null, pid: null, command: null, startedAt: null, durationMs: null, exitCode: null, signal: null, errors: [], omitted: 0 }
const NO_PREVIEW: PreviewView = { status: 'none', port: null, url: null, ports: [] }
const NO_SERVER: DevServerView = {
  status: 'stopped', action: null, pid: null, command: null, why: null, restarts: 0, startedAt: null, exitCode: null, signal: null, crash: null, restartAt: null,
}

/** Of a project in which nothing has run yet. */
export function nothingRan(project: ProjectId): RuntimeView {
  return { project, status: 'stopped', terminal: NO_TERMINAL, devServer: NO_SERVER, build: NO_BUILD, preview: NO_PREVIEW }
}

/** An event about what a project runs. */
export type RuntimeEvent = Extract<Event, { kind: `${'BUILD' | 'RUNTIME' | 'PREVIEW' | 'TERMINAL'}_${string}` }>

/** The view after an event. */
export function changed(view: RuntimeView, event: RuntimeEvent): RuntimeView {
  return whole(parts(view, event))
}

/** The whole is what its parts are. */
function whole(view: RuntimeView): RuntimeView {
  return { ...view, status: overall(view.devServer.status, view.build.status) }
}

function overall(devServer: RuntimeStatus, build: BuildStatus): RuntimeStatus {
  const waits = devServer === 'stopped' || devServer === 'crashed' || devServer === 'starting'
  return waits && build === 'running' ? 'building' : devServer
}

function parts(view: RuntimeView, event: RuntimeEvent): RuntimeView {
  const { devServer, terminal } = view
  switch (event.kind) {
    case 'BUILD_STARTED':
    case 'BUILD_SUCCEEDED':
    case 'BUILD_FAILED':
      return { ...view, build: built(view.build, event) }
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
      // A kind that this page does not know yet.
      return view
  }
}

type BuildEvent = Extract<RuntimeEvent, { kind: `BUILD_${string}` }>

function built(build: BuildView, event: BuildEvent): BuildView {
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

const LOST = "the project's kernel was lost, and with it what ran there"

/** The kernel has ended, or another is there: nothing of what ran in it is left. */
export function withoutKernel(view: RuntimeView, at: number, how: 'lost' | 'stopped'): RuntimeView {
  const { devServer, build, terminal } = view
  const inOrder = how === 'stopped'
  const ran = devServer.status !== 'stopped' && devServer.status !== 'crashed'
  const crash = inOrder ? null : { exitCode: null, signal: null, why: LOST, lastLines: [], at }
  return whole({
    ...view,
    devServer: ran
      ? { ...devServer, restartAt: null, pid: null, status: inOrder ? 'stopped' : 'crashed', crash }
      : { ...devServer, restartAt: null },
    build: build.status === 'running' ? { ...build, status: inOrder ? 'stopped' : 'failed', pid: null } : build,
    terminal: terminal.status === 'live' ? { ...terminal, status: 'exited', pid: null } : terminal,
    preview: NO_PREVIEW,
  })
}
