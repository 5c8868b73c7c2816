/** Why a preview is unavailable. Pure. */
import type { RuntimeView } from '../../proto/index.ts'

/** What is shown instead of the page. */
export type UnavailableNotice = {
  readonly title: string
  readonly text: string
  readonly lines: readonly string[]
  /** Whether the page will appear automatically. */
  readonly waiting: boolean
  readonly command: 'run' | null
}

/** How many lines of a crash are shown. */
const MAX_LINES = 40

/** Why the preview, or another port of the project, is unavailable; null if it is available. */
export function unavailableNotice(view: RuntimeView, port: number | null): UnavailableNotice | null {
  const notice = (title: string, text: string, more: Partial<UnavailableNotice> = {}): UnavailableNotice => ({ title, text, lines: [], waiting: true, command: null, ...more })
  switch (view.status) {
    case 'stopped':
      return notice('Not running', 'Run the project to see its page here.', { waiting: false, command: 'run' })
    case 'starting':
      return notice('Starting', 'The dev server is starting.')
    case 'building':
      return notice('Building', 'The project is building.')
    case 'stopping':
      return notice('Stopping', 'The project is stopping.')
    case 'crashed':
      return crashNotice(view)
    case 'running':
      return listeningNotice(view, port)
  }
}

function crashNotice({ devServer, build }: RuntimeView): UnavailableNotice {
  const { crash, restartAt } = devServer
  const failed = build.status === 'failed' && build.action === devServer.action
  const ended = crash?.signal != null ? `was terminated by signal ${String(crash.signal)}` : `ended with exit code ${String(crash?.exitCode ?? '?')}`
  const why = crash?.why ?? `The dev server ${ended}`
  const restart = failed ? '' : restartAt === null ? ' It is not restarted automatically.' : ' It restarts automatically.'
  return {
    title: failed ? 'The build failed' : 'Crashed',
    text: `${why.replace(/\.$/, '')}.${restart}`,
    lines: (crash?.lastLines ?? []).slice(-MAX_LINES),
    waiting: restartAt !== null,
    command: 'run',
  }
}

function listeningNotice({ preview }: RuntimeView, port: number | null): UnavailableNotice | null {
  const more = { lines: [], waiting: true, command: null } as const
  const wanted = port ?? preview.port
  const open = preview.ports.find((listed) => listed.port === wanted)
  if (port !== null) {
    if (open === undefined) return { title: 'Not listening', text: `The project does not listen on port ${String(port)}.`, ...more }
    return open.http ? null : { title: 'No response yet', text: `Port ${String(port)} is open, but has not responded over HTTP.`, ...more }
  }
  switch (preview.status) {
    case 'ready':
      return null
    case 'detected':
      return { title: 'No response yet', text: `The dev server listens on port ${String(wanted)}, but has not responded over HTTP.`, ...more }
    case 'lost':
      return { title: 'Not listening', text: 'The dev server is running, but no longer listening.', ...more }
    case 'none':
      return { title: 'Waiting', text: 'The dev server is running, but not listening on a port yet.', ...more }
  }
}
