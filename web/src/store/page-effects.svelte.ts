/**
 * What the page does by itself: it loads what is shown, follows what changes, and
 * announces approvals.
 */
import { untrack } from 'svelte'
import type { Approval, ProjectId } from '../proto/index.ts'
import type { Store, View } from './store.svelte.ts'
import type { EventScope } from './timeline/filter.ts'

/** How often the runtime status of the shown project is fetched, in milliseconds. */
const STATUS_POLL_MS = 5_000

/** Starts all of it. Returns a function that stops it. */
export function startPageEffects(store: Store): () => void {
  const stops = [syncTimeline(store), syncActionReport(store), syncGovernance(store), syncApprovals(store), syncRuntime(store), syncConversation(store)]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Selects the events of the timeline by the view and the filter. */
function syncTimeline(store: Store): () => void {
  const { timeline, navigation } = store
  const shown = $derived(store.view.kind === 'all' || (store.view.kind === 'project' && (store.view.page === 'timeline' || navigation.route.sidePage === 'timeline')))
  const kind = $derived(shown ? store.view.kind : 'loading')
  const project = $derived(shown && store.view.kind === 'project' ? store.view.project.id : null)
  // As text, because an address that is read again gives another object.
  const filter = $derived(JSON.stringify(navigation.route.filter))
  const ready = $derived(store.documents.ready)
  // A hidden page needs no second connection: a browser has few for all of its tabs.
  const following = $derived(shown && ready && !store.hidden)
  const snapshots = $derived(store.snapshots)
  return $effect.root(() => {
    $effect(() => {
      // Read here, because reads inside `untrack` are not dependencies.
      const scope = selectEventScope(kind, project)
      void filter
      if (snapshots > 0) untrack(() => timeline.select(scope, navigation.route.filter, navigation.route.event))
    })
    $effect(() => {
      const follow = following
      untrack(() => timeline.setFollowing(follow))
    })
    $effect(() => {
      if (ready) untrack(() => timeline.retryNow())
    })
  })
}

/** Loads the report on the screen. */
function syncActionReport(store: Store): () => void {
  const action = $derived(store.view.kind === 'action' ? store.view.id : null)
  const ready = $derived(store.documents.ready)
  return $effect.root(() => {
    $effect(() => {
      const id = action
      if (ready || id === null) void untrack(() => store.actionReport.load(id))
    })
  })
}

/** Loads roles and rules when they are shown or have changed. */
function syncGovernance(store: Store): () => void {
  const { governance, navigation } = store
  const pages = $derived(store.view.kind === 'project' ? [store.view.page, navigation.route.sidePage].join(' ') : '')
  const project = $derived(store.view.kind === 'project' ? store.view.project.id : null)
  const version = $derived(project === null ? '' : governance.filesVersion(project))
  const ready = $derived(store.documents.ready)
  return $effect.root(() => {
    $effect(() => {
      // Read here, because reads inside `untrack` are not dependencies.
      const [id, shown] = [project, pages]
      void version
      if (ready || id === null) untrack(() => governance.loadFiles(id, shown))
    })
  })
}

/** Opens the drawer, notifies, and keeps the drawer and the address in step. */
function syncApprovals(store: Store): () => void {
  const { approvals, documents, navigation } = store
  const { drawer } = approvals
  const pending = $derived(approvals.pending)
  const linked = $derived(navigation.route.approval)
  const all = $derived(documents.views.approvals)
  const missing = $derived(approvals.missing)
  const selected = $derived(drawer.selected !== null && approvals.selected === null ? drawer.selected : null)
  const ready = $derived(store.documents.ready)
  return $effect.root(() => {
    $effect(() => {
      if (ready && missing.length > 0) void untrack(() => approvals.fetchMissing())
    })
    $effect(() => {
      // The selected one is cut, or not among the latest.
      const id = selected
      if (ready && id !== null) void untrack(() => approvals.fetchApproval(id))
    })
    $effect(() => {
      const known = all
      untrack(() => approvals.answers.retain(known))
      const current = pending
      if (documents.loading) return
      untrack(() => {
        approvals.selectNext()
        notifyAboutApprovals(store, drawer.update(current, store.visibleSession === null ? 'other' : 'conversation'))
      })
    })
    $effect(() => {
      const id = linked
      if (documents.loading) return
      untrack(() => (id === null ? drawer.restoreRoute() : approvals.showLinked(id)))
    })
  })
}

/** Polls the runtime status of the shown project. */
function syncRuntime(store: Store): () => void {
  const { runtime } = store
  const project = $derived(store.view.kind === 'project' ? store.view.project.id : null)
  const kernel = $derived(project === null ? 'none' : runtime.runtimeOf(project).kernel.kind)
  const ready = $derived(store.documents.ready)
  return $effect.root(() => {
    $effect(() => {
      const id = project
      // Read here, because a change of it is a reason to poll at once.
      void kernel
      if (id === null || !ready) return
      const poll = (): void => {
        if (!document.hidden) void untrack(() => runtime.refresh(id))
      }
      poll()
      const timer = setInterval(poll, STATUS_POLL_MS)
      return () => clearInterval(timer)
    })
  })
}

/** Follows the conversation on the screen, and loads the models and what was used. */
function syncConversation(store: Store): () => void {
  const { conversations } = store
  const chatVisible = $derived(store.isChatVisible)
  const session = $derived(store.visibleSession)
  const project = $derived(store.view.kind === 'project' ? store.view.project.id : null)
  const ready = $derived(store.documents.ready)
  const snapshots = $derived(store.snapshots)
  const following = $derived(session !== null && ready && !store.hidden)
  const used = $derived(store.view.kind === 'project' ? conversations.usageVersion(store.view.project.id) : null)
  return $effect.root(() => {
    $effect(() => {
      const [owner, id, follow] = [project, session, following]
      untrack(() => {
        conversations.current.show(owner, id)
        conversations.current.setFollowing(follow)
      })
    })
    $effect(() => {
      if (ready && chatVisible) void untrack(() => conversations.models.load('/api/models'))
    })
    $effect(() => {
      // A snapshot has the latest sessions of all projects only.
      const [id, taken] = [project, snapshots]
      if (ready && chatVisible && id !== null && taken > 0) void untrack(() => conversations.fetchLatest(id))
    })
    $effect(() => {
      const id = project
      if (ready && used !== null && id !== null) void untrack(() => conversations.fetchUsage(id))
    })
  })
}

function notifyAboutApprovals(store: Store, fresh: readonly Approval[]): void {
  const [first] = fresh
  if (first === undefined) return
  const { notifications, drawer, pending } = store.approvals
  const title = pending.length === 1 ? '1 pending approval' : `${String(pending.length)} pending approvals`
  notifications.notify('approvals', title, 'Open Provost to answer.', () => drawer.show(store.approvals.pending, first.id))
}

function selectEventScope(kind: View['kind'], project: ProjectId | null): EventScope {
  if (kind === 'all') return { kind: 'all' }
  return project === null ? { kind: 'none' } : { kind: 'project', id: project }
}
