/**
 * All state of the page, and all commands that can be sent from it.
 *
 * One store is created when the page starts. Features get it with `useStore`; they
 * read its state and call its methods, and hold no other state of Provost.
 */
import { createContext } from 'svelte'
import type { ActionId, DaemonView, Project, SessionId } from '../proto/index.ts'
import { adoptPageToken } from '../net/index.ts'
import { ApprovalStore } from './approvals/approval-store.svelte.ts'
import { CommandTracker, type PendingCommand } from './commands/command-tracker.svelte.ts'
import { DocumentFollower } from './documents/document-follower.svelte.ts'
import { NIL_KEY } from './documents/views.ts'
import { GovernanceStore } from './governance/governance-store.svelte.ts'
import { Navigation } from './navigation/navigation.svelte.ts'
import type { PageName } from './navigation/route.ts'
import { Notices } from './notices/notices.svelte.ts'
import { startPageEffects } from './page-effects.svelte.ts'
import { ThemePreference } from './preferences/theme.svelte.ts'
import { closedProjects, openProjects, projectBySlug } from './projects/projects.ts'
import { RuntimeStore } from './runtime/runtime-store.svelte.ts'
import { ConversationStore } from './sessions/conversation-store.svelte.ts'
import { ActionReportStore } from './timeline/action-report.svelte.ts'
import { LogVerification } from './timeline/log-verification.svelte.ts'
import { TimelineStore } from './timeline/timeline-store.svelte.ts'


/** What every view needs: the page's set, and the open actions, which tell when a command has ended. */
const VIEWS = 'daemon,projects,modes,kernels,runtimes,approvals,grants,governance,agentInput,sessions,actions'

/** What the main area shows: the route, resolved against the documents. */
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
  readonly documents: DocumentFollower = new DocumentFollower(new URLSearchParams({ views: VIEWS }), {
    applied: (changes, commands) => this.#commands.confirm(commands, changes),
    replaced: () => this.#handleSnapshot(),
  })
  readonly #onLoggedOut = (): void => this.documents.setLoggedOut()
  readonly timeline = new TimelineStore(this.#onLoggedOut)
  readonly verification = new LogVerification(this.#onLoggedOut)
  readonly actionReport = new ActionReportStore(this.#onLoggedOut)
  readonly #commands = new CommandTracker(this.#onLoggedOut)
  readonly #deps = { documents: this.documents, commands: this.#commands, navigation: this.navigation, notices: this.notices }
  readonly approvals = new ApprovalStore(this.#deps)
  readonly governance = new GovernanceStore(this.#deps)
  readonly conversations = new ConversationStore(this.#deps)
  readonly runtime = new RuntimeStore(this.#deps)
  #hidden = $state(document.hidden)
  #snapshots = $state(0)

  readonly #open = $derived(openProjects(this.documents.views.projects))
  readonly #closed = $derived(closedProjects(this.documents.views.projects))
  readonly #view = $derived.by(() => this.#resolveView())

  /** The session that the chat on the screen shows, or null. */
  get visibleSession(): SessionId | null {
    return this.isChatVisible ? this.navigation.route.session : null
  }

  /** The open projects, by name. */
  get projects(): readonly Project[] {
    return this.#open
  }

  /** The closed projects, by name. */
  get closedProjects(): readonly Project[] {
    return this.#closed
  }

  /** The daemon, as far as its document is known. */
  get daemon(): DaemonView | undefined {
    return this.documents.views.daemon.get(NIL_KEY)
  }

  /** Whether the page is out of sight. */
  get hidden(): boolean {
    return this.#hidden
  }

  /** How many snapshots have replaced the documents. */
  get snapshots(): number {
    return this.#snapshots
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
    return this.documents.connection.kind === 'live' ? null : 'The daemon is not connected'
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
        if (outcome.response !== null) this.navigation.go({ kind: 'project', slug: (outcome.response as Project).slug, page: 'timeline' })
        return null
    }
  }

  /** Closes a project. Its folder and its events are kept. */
  async closeProject(project: Project): Promise<void> {
    const outcome = await this.#commands.send({ kind: 'closeProject', project: project.id, name: project.name })
    if (outcome.kind === 'failed') this.notices.add('error', outcome.reason)
  }

  /** Starts to follow the documents and the address. Returns a function that stops it. */
  start(): () => void {
    const stops = [
      this.navigation.listen(),
      this.#watchVisibility(),
      startPageEffects(this),
    ]
    this.follow()
    return () => {
      for (const stop of stops) stop()
      this.documents.stop()
    }
  }

  /** Starts to follow the documents, also after the login had ended. */
  follow(): void {
    void adoptPageToken().then(() => this.documents.start())
  }

  /** Skips the rest of all retry delays. */
  retryNow(): void {
    this.documents.retryNow()
  }

  /** Whether the chat is on the screen. */
  get isChatVisible(): boolean {
    return this.#view.kind === 'project' && (this.#view.page === 'chat' || this.navigation.route.sidePage === 'chat')
  }

  /** What a snapshot replaced may be of another log. */
  #handleSnapshot(): void {
    this.#commands.confirmAccepted()
    this.#snapshots++
  }

  /** Reconnects at once when the network is back or the page becomes visible. */
  #watchVisibility(): () => void {
    const reconnect = (): void => {
      if (this.#hidden !== document.hidden) this.documents.exchangeSlot()
      this.#hidden = document.hidden
      if (document.hidden) return
      if (this.documents.connection.kind === 'loggedOut') this.follow()
      else this.retryNow()
    }
    addEventListener('online', reconnect)
    document.addEventListener('visibilitychange', reconnect)
    return () => {
      removeEventListener('online', reconnect)
      document.removeEventListener('visibilitychange', reconnect)
    }
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
        return this.documents.loading ? { kind: 'loading' } : { kind: 'welcome' }
      case 'project': {
        const project = projectBySlug(this.documents.views.projects, target.slug)
        if (project !== undefined) return { kind: 'project', project, page: target.page }
        return this.documents.loading ? { kind: 'loading' } : { kind: 'notFound', slug: target.slug }
      }
    }
  }
}

const [use, provide] = createContext<Store>()

/** The page's store, for a component. */
export const useStore = use

/** Provides the store to all components below. */
export const provideStore = provide
