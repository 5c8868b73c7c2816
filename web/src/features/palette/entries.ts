/** What the palette offers: everything the page can do, by name. */
import {
  Activity,
  FolderOpen,
  FolderPlus,
  RotateCw,
  ShieldCheck,
  SunMoon,
  X,
} from 'lucide'
import type { IconNode } from 'lucide'
import type { Store } from '../../store/index.ts'

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
    const go = (): void => navigation.go({ kind: 'project', slug: project.slug })
    out.push({ id: `go ${project.id}`, title: `Go to ${project.name}`, icon: FolderOpen, hint: project.path, blocked: false, run: go })
  }
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
