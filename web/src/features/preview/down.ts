/** Why there is nothing to see, in words. Pure. */
import type { RuntimeView } from '../../proto/index.ts'

/** What is said instead of a page. */
export type Down = {
  readonly title: string
  readonly text: string
  readonly lines: readonly string[]
  /** Whether it comes by itself, or someone has to do something. */
  readonly waits: boolean
  readonly deed: 'run' | null
}

/** How many lines of a crash are shown. */
const LINES = 40

/** Why the preview, or another port of the project, cannot be seen; null if it can. */
export function downOf(view: RuntimeView, port: number | null): Down | null {
  const say = (title: string, text: string, more: Partial<Down> = {}): Down => ({ title, text, lines: [], waits: true, deed: null, ...more })
  switch (view.status) {
    case 'stopped':
      return say('Not running', 'Run the project, and what it serves appears here.', { waits: false, deed: 'run' })
    case 'starting':
      return say('Starting', 'The dev server is being started.')
    case 'building':
      return say('Building', 'The project is being built.')
    case 'stopping':
      return say('Stopping', 'The project is being stopped.')
    case 'crashed':
      return crashed(view)
    case 'running':
      return listening(view, port)
  }
}

function crashed({ devServer, build }: RuntimeView): Down {
  const { crash, restartAt } = devServer
  const failed = build.status === 'failed' && build.action === devServer.action
  const ended = crash?.signal != null ? `was ended by signal ${String(crash.signal)}` : `ended with exit code ${String(crash?.exitCode ?? '?')}`
  const why = crash?.why ?? `The dev server ${ended}`
  const back = failed ? '' : ` It ${restartAt === null ? 'does not come' : 'comes'} back by itself.`
  return {
    title: failed ? 'The build failed' : 'Crashed',
    text: `${why.replace(/\.$/, '')}.${back}`,
    lines: (crash?.lastLines ?? []).slice(-LINES),
    waits: restartAt !== null,
    deed: 'run',
  }
}

function listening({ preview }: RuntimeView, port: number | null): Down | null {
  const more = { lines: [], waits: true, deed: null } as const
  const wanted = port ?? preview.port
  const open = preview.ports.find((one) => one.port === wanted)
  if (port !== null) {
    if (open === undefined) return { title: 'Nothing there', text: `Nothing of the project listens on port ${String(port)}.`, ...more }
    return open.http ? null : { title: 'No answer yet', text: `Something listens on port ${String(port)}, and has not answered over HTTP.`, ...more }
  }
  switch (preview.status) {
    case 'ready':
      return null
    case 'detected':
      return { title: 'No answer yet', text: `The dev server listens on port ${String(wanted)}, and has not answered over HTTP.`, ...more }
    case 'lost':
      return { title: 'Gone', text: 'The dev server runs, but does not listen any more.', ...more }
    case 'none':
      return { title: 'Waiting', text: 'The dev server runs, and does not listen on any port yet.', ...more }
  }
}
