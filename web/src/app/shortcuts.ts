/** Shortcuts with Alt: the pages of the shown project, run and build. */
import type { PageName, Store } from '../store/index.ts'

/** The key of each page, with Alt. */
export const PAGE_KEYS: Readonly<Partial<Record<PageName, string>>> = { chat: 'C', run: 'O', terminal: 'T', preview: 'P', notebooks: 'N', timeline: 'L' }

/** Handles a shortcut with Alt; whether the event was one. */
export function handleAltShortcut(event: KeyboardEvent, store: Store): boolean {
  if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return false
  const { view, runtime } = store
  if (view.kind !== 'project') return false
  // By physical key, because Alt produces other letters on some keyboards.
  const key = event.code.replace(/^Key/, '')
  const page = (Object.keys(PAGE_KEYS) as PageName[]).find((name) => PAGE_KEYS[name] === key)
  if (page !== undefined) store.navigation.go({ kind: 'project', slug: view.project.slug, page })
  else if (key === 'B') void runtime.send(view.project, 'build')
  else if (key === 'R') void runtime.send(view.project, runtime.blockedReason(view.project, 'run') === null ? 'run' : 'stop')
  else return false
  return true
}
