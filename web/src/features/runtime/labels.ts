/** Labels of the runtime, its commands, builds and kernels. */
import { Ban, CircleAlert, CircleDashed, CircleStop, Hammer, HeartPulse, HeartCrack, LoaderCircle, Play, Radio, RotateCw } from 'lucide'
import type { IconNode } from 'lucide'
import type { BuildDiagnostic, BuildView, CrashReport, RuntimeView } from '../../proto/index.ts'
import type { RuntimeCommand, KernelHeartbeat, KernelState } from '../../store/index.ts'
import { formatDuration, type StatusLabel } from '../../ui/index.ts'

const PENDING_LABELS = { run: 'Run…', stop: 'Stop…', restart: 'Restart…', build: 'Build…' } as const satisfies Record<RuntimeCommand, string>

/** The label of the runtime. A pending command is shown as such, because the state has not changed yet. */
export function runtimeLabel(view: RuntimeView, pending: RuntimeCommand | null): StatusLabel {
  switch (view.status) {
    case 'stopped':
      if (pending !== null) return { text: PENDING_LABELS[pending], icon: LoaderCircle, tone: 'plain', spinning: true }
      if (view.build.status === 'failed') return { text: 'Build failed', icon: CircleAlert, tone: 'bad', spinning: false }
      return { text: 'Stopped', icon: CircleStop, tone: 'plain', spinning: false }
    case 'starting':
      return { text: 'Starting', icon: LoaderCircle, tone: 'warn', spinning: true }
    case 'building':
      return { text: 'Building', icon: Hammer, tone: 'warn', spinning: false }
    case 'running':
      return { text: 'Running', icon: Radio, tone: 'good', spinning: false }
    case 'stopping':
      return { text: 'Stopping', icon: LoaderCircle, tone: 'warn', spinning: true }
    case 'crashed':
      if (pending !== null) return { text: PENDING_LABELS[pending], icon: LoaderCircle, tone: 'plain', spinning: true }
      return { text: isBuildFailure(view) ? 'Build failed' : 'Crashed', icon: CircleAlert, tone: 'bad', spinning: false }
  }
}

/** Whether the run ended because its build failed. */
export function isBuildFailure({ build, devServer }: RuntimeView): boolean {
  return build.status === 'failed' && devServer.status === 'crashed' && build.action === devServer.action
}

/** The commands with their labels. */
export const RUNTIME_COMMANDS = {
  run: { name: 'Run', icon: Play, description: 'Build if needed, then start the dev server', key: 'Alt R' },
  stop: { name: 'Stop', icon: CircleStop, description: 'Stop the dev server and everything it started', key: 'Alt R' },
  restart: { name: 'Restart', icon: RotateCw, description: 'Stop, then run', key: '' },
  build: { name: 'Build', icon: Hammer, description: 'Build once and show the diagnostics', key: 'Alt B' },
} as const satisfies Record<RuntimeCommand, { readonly name: string; readonly icon: IconNode; readonly description: string; readonly key: string }>

/** The label of a kernel, with details. */
export type KernelLabel = StatusLabel & { readonly details: string }

/** The label of a kernel. Its state is unknown (`stale`) while the daemon is disconnected. */
export function kernelLabel(kernel: KernelState, heartbeat: KernelHeartbeat | null, stale: boolean): KernelLabel {
  if (stale) return { text: 'Kernel state unknown', icon: CircleDashed, tone: 'plain', spinning: false, details: 'The daemon is disconnected; the kernel keeps running' }
  switch (kernel.kind) {
    case 'connected': {
      const roundTrip = heartbeat === null ? '' : heartbeat.ms === null ? ', no heartbeat yet' : `, heartbeat ${heartbeat.ms < 1 ? 'under 1' : String(heartbeat.ms)} ms`
      return { text: 'Kernel responding', icon: HeartPulse, tone: 'good', spinning: false, details: `process ${String(kernel.pid ?? '?')}${roundTrip}` }
    }
    case 'unresponsive':
      return { text: 'Kernel not responding', icon: HeartCrack, tone: 'bad', spinning: false, details: 'missed its heartbeat' }
    case 'lost':
      return { text: 'Kernel lost', icon: HeartCrack, tone: 'bad', spinning: false, details: kernel.why }
    case 'stopped':
      return { text: 'Kernel stopped', icon: Ban, tone: 'plain', spinning: false, details: 'starts on demand' }
    case 'none':
      return { text: 'No kernel', icon: CircleDashed, tone: 'plain', spinning: false, details: 'starts on demand' }
  }
}

/** How a process ended: `exit code 3`, `signal 9`. */
export function describeExit({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: number | null }): string {
  if (signal !== null) return `signal ${String(signal)}${SIGNALS[signal] === undefined ? '' : ` (${SIGNALS[signal]})`}`
  return exitCode === null ? 'no exit code' : `exit code ${String(exitCode)}`
}

const SIGNALS: Readonly<Record<number, string>> = { 1: 'SIGHUP', 2: 'SIGINT', 6: 'SIGABRT', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 15: 'SIGTERM' }

/** Why the dev server crashed. */
export function describeCrash(crash: CrashReport): string {
  return crash.why ?? `The dev server exited unexpectedly with ${describeExit(crash)}.`
}

/** The state of the last build. */
export function describeBuild(build: BuildView, now: number): string {
  const took = build.durationMs === null ? '' : ` after ${build.durationMs < 10_000 ? `${String(build.durationMs)} ms` : formatDuration(build.durationMs)}`
  switch (build.status) {
    case 'none':
      return 'No build yet'
    case 'running':
      return `Building for ${formatDuration(now - (build.startedAt ?? 0) / 1000)}`
    case 'succeeded':
      return `Succeeded${took}`
    case 'failed':
      return `Failed${took}, ${describeExit(build)}`
    case 'stopped':
      return `Stopped${took}`
  }
}

/** The source location of a diagnostic: `src/a.ts:3:7`. */
export function sourceLocation({ file, line, column }: BuildDiagnostic): string {
  if (file === null) return ''
  return [file, line, column].filter((part) => part !== null).join(':')
}
