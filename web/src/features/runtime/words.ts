/** How each state of what runs is called and drawn. */
import { Ban, CircleAlert, CircleDashed, CircleStop, Hammer, HeartPulse, HeartCrack, LoaderCircle, Play, Radio, RotateCw } from 'lucide'
import type { IconNode } from 'lucide'
import type { BuildDiagnostic, BuildView, CrashReport, RuntimeView } from '../../proto/index.ts'
import type { Deed, Heartbeat, KernelNow } from '../../store/index.ts'
import { span } from '../../ui/index.ts'

/** A word, a drawing and a color: never the color alone. */
export type Look = {
  readonly word: string
  readonly icon: IconNode
  readonly tone: 'plain' | 'good' | 'warn' | 'bad'
  readonly turning: boolean
}

const GOING = { run: 'Run…', stop: 'Stop…', restart: 'Restart…', build: 'Build…' } as const satisfies Record<Deed, string>

/** The look of what runs. A deed that the log has not confirmed yet is no state: it is said as one's own wish. */
export function lookOf(view: RuntimeView, going: Deed | null): Look {
  switch (view.status) {
    case 'stopped':
      if (going !== null) return { word: GOING[going], icon: LoaderCircle, tone: 'plain', turning: true }
      if (view.build.status === 'failed') return { word: 'Build failed', icon: CircleAlert, tone: 'bad', turning: false }
      return { word: 'Stopped', icon: CircleStop, tone: 'plain', turning: false }
    case 'starting':
      return { word: 'Starting', icon: LoaderCircle, tone: 'warn', turning: true }
    case 'building':
      return { word: 'Building', icon: Hammer, tone: 'warn', turning: false }
    case 'running':
      return { word: 'Running', icon: Radio, tone: 'good', turning: false }
    case 'stopping':
      return { word: 'Stopping', icon: LoaderCircle, tone: 'warn', turning: true }
    case 'crashed':
      if (going !== null) return { word: GOING[going], icon: LoaderCircle, tone: 'plain', turning: true }
      return { word: isBuildFailure(view) ? 'Build failed' : 'Crashed', icon: CircleAlert, tone: 'bad', turning: false }
  }
}

/** Whether the run ended because its build did not succeed. */
export function isBuildFailure({ build, devServer }: RuntimeView): boolean {
  return build.status === 'failed' && devServer.status === 'crashed' && build.action === devServer.action
}

/** What can be done, and how it is called. */
export const DEEDS = {
  run: { name: 'Run', icon: Play, means: 'Build if needed, then start the dev server', key: 'Alt R' },
  stop: { name: 'Stop', icon: CircleStop, means: 'End the dev server and everything it started', key: 'Alt R' },
  restart: { name: 'Restart', icon: RotateCw, means: 'Stop, then run', key: '' },
  build: { name: 'Build', icon: Hammer, means: 'Build once, and show what is wrong', key: 'Alt B' },
} as const satisfies Record<Deed, { readonly name: string; readonly icon: IconNode; readonly means: string; readonly key: string }>

/** The look of a kernel, and what more there is to say. */
export type KernelLook = Look & { readonly more: string }

/** The heart of a kernel; what is known of it is old while the daemon is not heard. */
export function kernelLook(kernel: KernelNow, beat: Heartbeat | null, stale: boolean): KernelLook {
  if (stale) return { word: 'Kernel not heard', icon: CircleDashed, tone: 'plain', turning: false, more: 'Provost itself does not answer; the kernel lives on without it' }
  switch (kernel.kind) {
    case 'connected': {
      const took = beat === null ? '' : beat.ms === null ? ', no heartbeat yet' : `, heartbeat ${beat.ms < 1 ? 'under 1' : String(beat.ms)} ms`
      return { word: 'Kernel answers', icon: HeartPulse, tone: 'good', turning: false, more: `process ${String(kernel.pid ?? '?')}${took}` }
    }
    case 'unresponsive':
      return { word: 'Kernel does not answer', icon: HeartCrack, tone: 'bad', turning: false, more: 'it missed its heartbeat' }
    case 'lost':
      return { word: 'Kernel lost', icon: HeartCrack, tone: 'bad', turning: false, more: kernel.why }
    case 'stopped':
      return { word: 'Kernel stopped', icon: Ban, tone: 'plain', turning: false, more: 'it starts when something needs it' }
    case 'none':
      return { word: 'No kernel', icon: CircleDashed, tone: 'plain', turning: false, more: 'it starts when something needs it' }
  }
}

/** How something ended: `exit code 3`, `signal 9`. */
export function ended({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: number | null }): string {
  if (signal !== null) return `signal ${String(signal)}${SIGNALS[signal] === undefined ? '' : ` (${SIGNALS[signal]})`}`
  return exitCode === null ? 'no exit code' : `exit code ${String(exitCode)}`
}

const SIGNALS: Readonly<Record<number, string>> = { 1: 'SIGHUP', 2: 'SIGINT', 6: 'SIGABRT', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 15: 'SIGTERM' }

/** Why there is nothing more to see of a crash. */
export function crashWords(crash: CrashReport): string {
  return crash.why ?? `The dev server ended with ${ended(crash)}, and nobody had asked it to.`
}

/** How the last build went, in a sentence. */
export function buildWords(build: BuildView, now: number): string {
  const took = build.durationMs === null ? '' : ` after ${build.durationMs < 10_000 ? `${String(build.durationMs)} ms` : span(build.durationMs)}`
  switch (build.status) {
    case 'none':
      return 'Nothing was built yet'
    case 'running':
      return `Builds since ${span(now - (build.startedAt ?? 0) / 1000)}`
    case 'succeeded':
      return `Succeeded${took}`
    case 'failed':
      return `Failed${took}, ${ended(build)}`
    case 'stopped':
      return `Stopped${took}`
  }
}

/** Where a build error is: `src/a.ts:3:7`. */
export function placeOf({ file, line, column }: BuildDiagnostic): string {
  if (file === null) return ''
  return [file, line, column].filter((part) => part !== null).join(':')
}
