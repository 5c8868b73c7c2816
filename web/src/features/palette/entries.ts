/** What the palette offers: everything the page can do, by name. */
import {
  Activity,
  Box,
  CircleStop,
  FolderOpen,
  FolderPlus,
  Hammer,
  Inbox,
  KeyRound,
  MessageSquarePlus,
  MessagesSquare,
  Monitor,
  Play,
  RotateCw,
  Scale,
  ScrollText,
  ShieldCheck,
  Signpost,
  SquareTerminal,
  SunMoon,
  UserCog,
  X,
} from 'lucide'
import type { IconNode } from 'lucide'
import type { ProjectMode, Project } from '../../proto/index.ts'
import type { Store } from '../../store/index.ts'

/** How many sessions of a project are offered. */
const LATEST = 8

/** One line of the palette. */
export type Entry = {
  readonly id: string
  readonly title: string
  readonly icon: IconNode
  /** Said beside the title: a path, or why it cannot be done now. */
  readonly hint: string
  readonly blocked: boolean
  readonly run: () => void
}

/** All entries, as things stand. `askPath` turns the palette into a field for a path. */
export function entries(store: Store, askPath: () => void): readonly Entry[] {
  const blocked = store.blocked !== null
  const hint = store.blocked ?? ''
  const { navigation, theme } = store
  const out: Entry[] = [
    { id: 'open', title: 'Open a project…', icon: FolderPlus, hint, blocked, run: askPath },
    { id: 'all', title: 'Go to all events', icon: Activity, hint: '', blocked: false, run: () => navigation.go({ kind: 'all' }) },
  ]
  for (const project of store.projects) {
    const go = (): void => navigation.go({ kind: 'project', slug: project.slug, page: 'timeline' })
    out.push({ id: `go ${project.id}`, title: `Go to ${project.name}`, icon: FolderOpen, hint: project.path, blocked: false, run: go })
  }
  out.push(...talking(store), ...running(store), ...governing(store))
  if (store.log.connection.kind === 'lost') {
    out.unshift({ id: 'retry', title: 'Retry the connection now', icon: RotateCw, hint: '', blocked: false, run: () => store.log.retryNow() })
  }
  out.push({ id: 'verify', title: 'Verify the log', icon: ShieldCheck, hint, blocked, run: () => void store.audit.verify() })
  for (const choice of ['system', 'light', 'dark'] as const) {
    const title = choice === 'system' ? 'Theme: as the system' : `Theme: ${choice}`
    const chosen = theme.theme === choice ? 'chosen' : ''
    out.push({ id: `theme ${choice}`, title, icon: SunMoon, hint: chosen, blocked: false, run: () => theme.choose(choice) })
  }
  for (const project of store.projects) {
    const close = (): void => void store.closeProject(project)
    out.push({ id: `close ${project.id}`, title: `Close ${project.name}`, icon: X, hint: blocked ? hint : project.path, blocked, run: close })
  }
  return out
}

/** The tour, new sessions and the latest ones, and stopping what a session does. */
function talking(store: Store): readonly Entry[] {
  const { navigation, talks } = store
  const why = store.blocked
  const out: Entry[] = [
    { id: 'tour', title: 'Take the tour', icon: Signpost, hint: why ?? 'a script in an example project', blocked: why !== null, run: () => void tour(store) },
  ]
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  for (const project of projects) {
    const begin = (): void => {
      navigation.go({ kind: 'project', slug: project.slug, page: 'chat' })
      navigation.session(null)
    }
    out.push({ id: `new session ${project.id}`, title: `New session in ${project.name}`, icon: MessageSquarePlus, hint: '', blocked: false, run: begin })
    for (const session of talks.of(project.id).slice(0, LATEST)) {
      const { id, title, role, status } = session
      out.push({ id: `session ${id}`, title: `Session: ${title === '' ? 'nothing said yet' : title}`, icon: MessagesSquare, hint: role, blocked: false, run: () => navigation.talk(project.slug, id) })
      if (status === 'running') {
        out.push({ id: `stop session ${id}`, title: `Stop the turn of: ${title}`, icon: CircleStop, hint: why ?? role, blocked: why !== null, run: () => void talks.cancel(id) })
      }
    }
  }
  return out
}

async function tour(store: Store): Promise<void> {
  const failure = await store.talks.takeTour()
  if (failure !== null) store.notices.add('error', failure)
}

/** What runs: its pages and deeds, of the project that is looked at, or of all. */
function running(store: Store): readonly Entry[] {
  const { navigation, operations } = store
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  return projects.filter(({ status }) => status === 'open').flatMap((project) => {
    const pages = [['chat', 'Chat', MessagesSquare, 'Alt C'], ['terminal', 'Terminal', SquareTerminal, 'Alt T'], ['preview', 'Preview', Monitor, 'Alt P'], ['run', 'Output', ScrollText, 'Alt O']] as const
    const deeds = [['run', 'Run', Play], ['stop', 'Stop', CircleStop], ['restart', 'Restart', RotateCw], ['build', 'Build', Hammer]] as const
    return [
      ...pages.map(([page, name, icon, hint]): Entry => ({
        id: `${page} ${project.id}`, title: `${name} of ${project.name}`, icon, hint, blocked: false,
        run: () => navigation.go({ kind: 'project', slug: project.slug, page }),
      })),
      ...deeds.map(([deed, name, icon]): Entry => {
        const why = operations.blocked(project, deed)
        return { id: `deed ${deed} ${project.id}`, title: `${name} ${project.name}`, icon, hint: why ?? '', blocked: why !== null, run: () => void operations.act(project, deed) }
      }),
    ]
  })
}

/** Requests, and the pages and modes of the project that is looked at, or of the only one. */
function governing(store: Store): readonly Entry[] {
  const { governance, navigation } = store
  const waiting = governance.pending.length
  const hint = waiting === 0 ? 'none waits' : waiting === 1 ? '1 waits' : `${String(waiting)} wait`
  const out: Entry[] = [
    { id: 'requests', title: 'Answer requests', icon: Inbox, hint, blocked: false, run: () => governance.desk.show(governance.pending) },
  ]
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  for (const project of projects) {
    const pages = [['roles', 'Roles', UserCog], ['policy', 'Policy', Scale], ['grants', 'Grants', KeyRound]] as const
    for (const [page, name, icon] of pages) {
      const run = (): void => navigation.go({ kind: 'project', slug: project.slug, page })
      out.push({ id: `${page} ${project.id}`, title: `${name} of ${project.name}`, icon, hint: '', blocked: false, run })
    }
    // Full mode asks for its minutes, so it is chosen in the header.
    for (const mode of ['sandbox', 'auto'] as const) {
      const run = (): void => void setMode(store, project, mode)
      const why = store.blocked
      out.push({ id: `${mode} ${project.id}`, title: `Mode ${mode} in ${project.name}`, icon: Box, hint: why ?? '', blocked: why !== null, run })
    }
  }
  return out
}

async function setMode(store: Store, project: Project, mode: ProjectMode): Promise<void> {
  const failure = await store.governance.setMode(project.id, mode)
  if (failure !== null) store.notices.add('error', failure)
}
