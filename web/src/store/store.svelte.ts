/**
 * All state of the page, and all commands that can be sent from it.
 *
 * One store is created when the page starts. Features get it with `useStore`; they
 * read its state and call its methods, and hold no other state of Provost.
 */
import { createContext, untrack } from 'svelte'
import type { ActionId, Approval, Project, ProjectId, SessionId } from '../proto/index.ts'
import { ApprovalStore } from './approvals/approval-store.svelte.ts'
import { CommandTracker, type PendingCommand } from './commands/command-tracker.svelte.ts'
import { GovernanceStore } from './governance/governance-store.svelte.ts'
import { EventLog } from './log/event-log.svelte.ts'
import { LogVerification } from './log/log-verification.svelte.ts'
import { Navigation } from './navigation/navigation.svelte.ts'
import type { PageName } from './navigation/route.ts'
import { Notices } from './notices/notices.svelte.ts'
import { ThemePreference } from './preferences/theme.svelte.ts'
import { closedProjects, openProjects, projectBySlug } from './projects/projects.ts'
import { RuntimeStore } from './runtime/runtime-store.svelte.ts'
import { ConversationStore } from './sessions/conversation-store.svelte.ts'
import { ActionReportStore } from './timeline/action-report.svelte.ts'
import type { EventScope } from './timeline/filter.ts'

/** How often the runtime status of the shown project is fetched, in milliseconds. */
const STATUS_POLL_MS = 5_000
/** The same while one of its events is truncated. */
const TRUNCATED_POLL_MS = 300

/** What the main area shows: the route, resolved against the log. */
export type View =
  | { readonly kind: 'loading' }
  | { readonly kind: 'welcome' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly project: Project; readonly page: PageName }
  | { readonly kind: 'action'; readonly id: ActionId }
  | { readonly kind: 'notFound'; readonly slug: string }

/** See the head of this file. */
export class Store {
  readonly navigation = new Navigation()
  readonly notices = new Notices()
  readonly theme = new ThemePreference()
  readonly log: EventLog = new EventLog((events) => {
    this.#commands.confirm(events)
    this.actionReport.append(events)
    this.conversations.current.append(events)
  })
  readonly verification = new LogVerification(() => this.log.setLoggedOut())
  readonly actionReport = new ActionReportStore(() => this.log.setLoggedOut())
  readonly #commands = new CommandTracker(() => this.log.setLoggedOut())
  readonly approvals = new ApprovalStore({ log: this.log, commands: this.#commands, navigation: this.navigation, notices: this.notices })
  readonly governance = new GovernanceStore({ log: this.log, commands: this.#commands, notices: this.notices })
  readonly conversations = new ConversationStore({ log: this.log, commands: this.#commands, navigation: this.navigation, notices: this.notices })
  readonly runtime = new RuntimeStore({ log: this.log, commands: this.#commands, notices: this.notices })

  readonly #open = $derived(openProjects(this.log.projection.projects))
  readonly #closed = $derived(closedProjects(this.log.projection.projects))
  readonly #view = $derived.by(() => this.#resolveView())

  /** The session that the chat on the screen shows, or null. */
  get visibleSession(): SessionId | null {
    return this.#isChatVisible ? this.navigation.route.session : null
  }

  /** The open projects, by name. */
  get projects(): readonly Project[] {
    return this.#open
  }

  /** The closed projects, by name. */
  get closedProjects(): readonly Project[] {
    return this.#closed
  }

  /** The commands that the log has not confirmed yet. */
  get pending(): readonly PendingCommand[] {
    return this.#commands.pending
  }

  /** What the main area shows. */
  get view(): View {
    return this.#view
  }

  /** Why no command can be sent now, or null. */
  get blocked(): string | null {
    return this.log.connection.kind === 'live' ? null : 'The daemon is not connected'
  }

  /** Opens a folder as a project and shows it. Returns why it failed, or null. */
  async openProject(path: string): Promise<string | null> {
    const outcome = await this.#commands.send({ kind: 'openProject', path: path.trim() })
    switch (outcome.kind) {
      case 'failed':
        return outcome.reason
      case 'alreadyOpen':
        this.notices.add('info', `${outcome.project.name} is already open.`)
        this.navigation.go({ kind: 'project', slug: outcome.project.slug, page: 'timeline' })
        return null
      case 'accepted':
        return null
      case 'done':
        if (outcome.event?.kind === 'PROJECT_OPENED') {
          this.navigation.go({ kind: 'project', slug: outcome.event.body.slug, page: 'timeline' })
        }
        return null
    }
  }

  /** Closes a project. Its folder and its events are kept. */
  async closeProject(project: Project): Promise<void> {
    const outcome = await this.#commands.send({ kind: 'closeProject', project: project.id, name: project.name })
    if (outcome.kind === 'failed') this.notices.add('error', outcome.reason)
  }

  /** Starts to follow the log and the address. Returns a function that stops it. */
  start(): () => void {
    const stops = [
      this.navigation.listen(),
      this.#reconnectWhenVisible(),
      this.#syncTimeline(),
      this.#syncGovernance(),
      this.#syncApprovals(),
      this.#syncRuntime(),
      this.#syncConversation(),
    ]
    this.log.follow()
    return () => {
      for (const stop of stops) stop()
      this.log.stop()
    }
  }

  get #isChatVisible(): boolean {
    return this.#view.kind === 'project' && (this.#view.page === 'chat' || this.navigation.route.sidePage === 'chat')
  }

  /** Whether the log is read and the daemon is connected, so that data can be fetched. */
  get #isReady(): boolean {
    return !this.log.replaying && this.log.connection.kind === 'live'
  }

  /** Reconnects at once when the network is back or the page becomes visible. */
  #reconnectWhenVisible(): () => void {
    const reconnect = (): void => {
      if (document.hidden) return
      if (this.log.connection.kind === 'loggedOut') this.log.follow()
      else this.log.retryNow()
    }
    addEventListener('online', reconnect)
    document.addEventListener('visibilitychange', reconnect)
    return () => {
      removeEventListener('online', reconnect)
      document.removeEventListener('visibilitychange', reconnect)
    }
  }

  /** Selects the events of the timeline by the view and the filter. */
  #syncTimeline(): () => void {
    // Selecting visits every event, so it depends on nothing but these three.
    const kind = $derived(this.#view.kind)
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const filter = $derived(this.navigation.route.filter)
    const action = $derived(this.#view.kind === 'action' ? this.#view.id : null)
    const ready = $derived(this.#isReady)
    return $effect.root(() => {
      $effect(() => this.log.selectRows(scopeOf(kind, project), filter))
      $effect(() => {
        const id = action
        if (ready || id === null) void untrack(() => this.actionReport.load(id))
      })
    })
  }

  /** Loads roles, rules and grants when they are shown or have changed. */
  #syncGovernance(): () => void {
    const { governance, log, navigation } = this
    const page = $derived(this.#view.kind === 'project' ? this.#view.page : null)
    const pages = $derived(this.#view.kind === 'project' ? [this.#view.page, navigation.route.sidePage].join(' ') : '')
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const truncatedGrants = $derived(log.projection.grants.truncatedSeq)
    const lastChange = $derived(project === null ? 0 : governance.lastFileChange(project))
    const ready = $derived(this.#isReady)
    return $effect.root(() => {
      $effect(() => {
        // Read here, because reads inside `untrack` are not dependencies.
        const [id, shown] = [project, pages]
        void lastChange
        if (ready || id === null) untrack(() => governance.loadFiles(id, shown))
      })
      $effect(() => {
        void truncatedGrants
        const id = project
        if (id !== null && page === 'grants' && ready) void untrack(() => governance.loadGrants(id))
      })
    })
  }

  /** Opens the drawer, notifies, and keeps the drawer and the address in step. */
  #syncApprovals(): () => void {
    const { approvals, log, navigation } = this
    const { drawer } = approvals
    const pending = $derived(approvals.pending)
    const linked = $derived(navigation.route.approval)
    const projection = $derived(log.projection.approvals)
    const ready = $derived(this.#isReady)
    return $effect.root(() => {
      $effect(() => {
        if (ready && projection.truncatedSeq >= 0) void untrack(() => approvals.hydrate())
      })
      $effect(() => {
        const { all } = projection
        untrack(() => approvals.answers.retain(all))
        const current = pending
        if (log.replaying) return
        untrack(() => {
          approvals.selectNext()
          this.#notifyOf(drawer.update(current, this.visibleSession === null ? 'other' : 'conversation'))
        })
      })
      $effect(() => {
        const id = linked
        if (log.replaying) return
        untrack(() => (id === null ? drawer.restoreRoute() : approvals.showLinked(id)))
      })
    })
  }

  /** Polls the runtime status of the shown project. */
  #syncRuntime(): () => void {
    const { runtime } = this
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const truncated = $derived(project !== null && runtime.runtimeOf(project).truncated)
    const kernel = $derived(project === null ? 'none' : runtime.runtimeOf(project).kernel.kind)
    const ready = $derived(this.#isReady)
    return $effect.root(() => {
      $effect(() => {
        const id = project
        // Read here, because a change of either is a reason to poll at once.
        void [truncated, kernel]
        if (id === null || !ready) return
        const poll = (): void => {
          if (!document.hidden) void untrack(() => runtime.refresh(id))
        }
        poll()
        const timer = setInterval(poll, truncated ? TRUNCATED_POLL_MS : STATUS_POLL_MS)
        return () => clearInterval(timer)
      })
    })
  }

  /** Loads the conversation on the screen and the models. */
  #syncConversation(): () => void {
    const { log, conversations } = this
    const chatVisible = $derived(this.#isChatVisible)
    const session = $derived(this.visibleSession)
    const ready = $derived(this.#isReady)
    const truncatedSeq = $derived(log.projection.sessions.truncatedSeq)
    return $effect.root(() => {
      $effect(() => {
        const id = session
        if (ready || id === null) void untrack(() => conversations.current.load(id))
      })
      $effect(() => {
        if (ready && truncatedSeq > 0) void untrack(() => conversations.hydrate())
      })
      $effect(() => {
        if (ready && chatVisible) void untrack(() => conversations.models.load('/api/models'))
      })
    })
  }

  #notifyOf(fresh: readonly Approval[]): void {
    const [first] = fresh
    if (first === undefined) return
    const { notifications, drawer, pending } = this.approvals
    const title = pending.length === 1 ? '1 pending approval' : `${String(pending.length)} pending approvals`
    notifications.notify('approvals', title, 'Open Provost to answer.', () => drawer.show(this.approvals.pending, first.id))
  }

  #resolveView(): View {
    const { target } = this.navigation.route
    switch (target.kind) {
      case 'all':
        return { kind: 'all' }
      case 'action':
        return { kind: 'action', id: target.id }
      case 'home':
        if (this.#open.length > 0) return { kind: 'all' }
        return this.log.replaying ? { kind: 'loading' } : { kind: 'welcome' }
      case 'project': {
        const project = projectBySlug(this.log.projection.projects, target.slug)
        if (project !== undefined) return { kind: 'project', project, page: target.page }
        return this.log.replaying ? { kind: 'loading' } : { kind: 'notFound', slug: target.slug }
      }
    }
  }
}

function scopeOf(kind: View['kind'], project: ProjectId | null): EventScope {
  if (kind === 'all') return { kind: 'all' }
  return project === null ? { kind: 'none' } : { kind: 'project', id: project }
}

const [use, provide] = createContext<Store>()

/** The page's store, for a component. */
export const useStore = use

/** Provides the store to all components below. */
export const provideStore = provide
