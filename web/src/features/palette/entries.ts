/** The entries of the palette: everything the page can do. */
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

/** How many sessions of a project are listed. */
const MAX_SESSIONS = 8

/** One entry of the palette. */
export type PaletteEntry = {
  readonly id: string
  readonly title: string
  readonly icon: IconNode
  /** Shown beside the title: a path, or why the entry is blocked. */
  readonly hint: string
  readonly blocked: boolean
  readonly run: () => void
}

/** All entries for the current state. `askPath` turns the palette into an input for a path. */
export function paletteEntries(store: Store, askPath: () => void): readonly PaletteEntry[] {
  const blocked = store.blocked !== null
  const hint = store.blocked ?? ''
  const { navigation, theme } = store
  const out: PaletteEntry[] = [
    { id: 'open', title: 'Open a project…', icon: FolderPlus, hint, blocked, run: askPath },
    { id: 'all', title: 'Go to all events', icon: Activity, hint: '', blocked: false, run: () => navigation.go({ kind: 'all' }) },
  ]
  for (const project of store.projects) {
    const go = (): void => navigation.go({ kind: 'project', slug: project.slug, page: 'timeline' })
    out.push({ id: `go ${project.id}`, title: `Go to ${project.name}`, icon: FolderOpen, hint: project.path, blocked: false, run: go })
  }
  out.push(...sessionEntries(store), ...runtimeEntries(store), ...governanceEntries(store))
  if (store.documents.connection.kind === 'lost') {
    out.unshift({ id: 'retry', title: 'Reconnect now', icon: RotateCw, hint: '', blocked: false, run: () => store.retryNow() })
  }
  out.push({ id: 'verify', title: 'Verify the log', icon: ShieldCheck, hint, blocked, run: () => void store.verification.verify() })
  for (const choice of ['system', 'light', 'dark'] as const) {
    const title = choice === 'system' ? 'Theme: system' : `Theme: ${choice}`
    const chosen = theme.theme === choice ? 'chosen' : ''
    out.push({ id: `theme ${choice}`, title, icon: SunMoon, hint: chosen, blocked: false, run: () => theme.choose(choice) })
  }
  for (const project of store.projects) {
    const close = (): void => void store.closeProject(project)
    out.push({ id: `close ${project.id}`, title: `Close ${project.name}`, icon: X, hint: blocked ? hint : project.path, blocked, run: close })
  }
  return out
}

/** The tour, new sessions, the latest ones, and stopping their turns. */
function sessionEntries(store: Store): readonly PaletteEntry[] {
  const { navigation, conversations } = store
  const why = store.blocked
  const out: PaletteEntry[] = [
    { id: 'tour', title: 'Take the tour', icon: Signpost, hint: why ?? 'a script in an example project', blocked: why !== null, run: () => void startTour(store) },
  ]
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  for (const project of projects) {
    const begin = (): void => {
      navigation.go({ kind: 'project', slug: project.slug, page: 'chat' })
      navigation.showSession(null)
    }
    out.push({ id: `new session ${project.id}`, title: `New session in ${project.name}`, icon: MessageSquarePlus, hint: '', blocked: false, run: begin })
    for (const session of conversations.selectSessions(project.id).slice(0, MAX_SESSIONS)) {
      const { id, title, role, status } = session
      out.push({ id: `session ${id}`, title: `Session: ${title === '' ? 'empty session' : title}`, icon: MessagesSquare, hint: role, blocked: false, run: () => navigation.goToSession(project.slug, id) })
      if (status === 'running') {
        out.push({ id: `stop session ${id}`, title: `Stop the turn of: ${title}`, icon: CircleStop, hint: why ?? role, blocked: why !== null, run: () => void conversations.cancelTurn(id) })
      }
    }
  }
  return out
}

async function startTour(store: Store): Promise<void> {
  const failure = await store.conversations.startTour()
  if (failure !== null) store.notices.add('error', failure)
}

/** The runtime pages and commands of the shown project, or of all. */
function runtimeEntries(store: Store): readonly PaletteEntry[] {
  const { navigation, runtime } = store
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  return projects.filter(({ status }) => status === 'open').flatMap((project) => {
    const pages = [['chat', 'Chat', MessagesSquare, 'Alt C'], ['terminal', 'Terminal', SquareTerminal, 'Alt T'], ['preview', 'Preview', Monitor, 'Alt P'], ['run', 'Output', ScrollText, 'Alt O']] as const
    const commands = [['run', 'Run', Play], ['stop', 'Stop', CircleStop], ['restart', 'Restart', RotateCw], ['build', 'Build', Hammer]] as const
    return [
      ...pages.map(([page, name, icon, hint]): PaletteEntry => ({
        id: `${page} ${project.id}`, title: `${name} of ${project.name}`, icon, hint, blocked: false,
        run: () => navigation.go({ kind: 'project', slug: project.slug, page }),
      })),
      ...commands.map(([command, name, icon]): PaletteEntry => {
        const why = runtime.blockedReason(project, command)
        return { id: `command ${command} ${project.id}`, title: `${name} ${project.name}`, icon, hint: why ?? '', blocked: why !== null, run: () => void runtime.send(project, command) }
      }),
    ]
  })
}

/** Approvals, and the governance pages and modes of the shown project, or of all. */
function governanceEntries(store: Store): readonly PaletteEntry[] {
  const { approvals, navigation } = store
  const pending = approvals.pending.length
  const hint = pending === 0 ? 'none pending' : `${String(pending)} pending`
  const out: PaletteEntry[] = [
    { id: 'approvals', title: 'Answer approvals', icon: Inbox, hint, blocked: false, run: () => approvals.drawer.show(approvals.pending) },
  ]
  const projects = store.view.kind === 'project' ? [store.view.project] : store.projects
  for (const project of projects) {
    const pages = [['roles', 'Roles', UserCog], ['policy', 'Policy', Scale], ['grants', 'Grants', KeyRound]] as const
    for (const [page, name, icon] of pages) {
      const run = (): void => navigation.go({ kind: 'project', slug: project.slug, page })
      out.push({ id: `${page} ${project.id}`, title: `${name} of ${project.name}`, icon, hint: '', blocked: false, run })
    }
    // Full mode needs a duration, so it can be set only in the header.
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
