/** The keys with Alt: the pages of the project that is looked at, and running it. */
import type { Page, Store } from '../store/index.ts'

/** The key of a page, with Alt. */
export const PAGE_KEYS: Readonly<Partial<Record<Page, string>>> = { chat: 'C', run: 'O', terminal: 'T', preview: 'P', timeline: 'L' }

/** Does what a key with Alt asks for; whether it asked for anything. */
export function altered(event: KeyboardEvent, store: Store): boolean {
  if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return false
  const { view, operations } = store
  if (view.kind !== 'project') return false
  // By its place, because Alt makes other letters of them on some keyboards.
  const key = event.code.replace(/^Key/, '')
  const page = (Object.keys(PAGE_KEYS) as Page[]).find((name) => PAGE_KEYS[name] === key)
  if (page !== undefined) store.navigation.go({ kind: 'project', slug: view.project.slug, page })
  else if (key === 'B') void operations.act(view.project, 'build')
  else if (key === 'R') void operations.act(view.project, operations.blocked(view.project, 'run') === null ? 'run' : 'stop')
  else return false
  return true
}
