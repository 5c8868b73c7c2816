/**
 * All state of the page, and every deed that can be done from it.
 *
 * One is made when the page starts; features find it with `useStore` and read
 * or call it, and that is all they do.
 */
import { createContext, untrack } from 'svelte'
import type { ActionId, Approval, Project, ProjectId, SessionId } from '../proto/index.ts'
import { Audit } from './log/log-verification.svelte.ts'
import { Commands, type Pending } from './commands/command-tracker.svelte.ts'
import type { Scope } from './timeline/filter.ts'
import { Governance } from './governance/governance-store.svelte.ts'
import { Log } from './log/event-log.svelte.ts'
import { Navigation } from './navigation/navigation.svelte.ts'
import { Notices } from './notices/notices.svelte.ts'
import { Operations } from './runtime/runtime-store.svelte.ts'
import { closedProjects, openProjects, projectBySlug } from './projects/projects.ts'
import type { Page } from './navigation/route.ts'
import { Talks } from './sessions/conversation-store.svelte.ts'
import { ThemeChoice } from './preferences/theme.svelte.ts'

/** How often the kernel of the project that is looked at is asked after. */
const HEARTBEAT_MS = 5_000
/** How often, while something of it is kept beside the log. */
const SEALED_MS = 300

/** What the address points at, as far as the log knows it. */
export type View =
  | { readonly kind: 'reading' }
  | { readonly kind: 'welcome' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly project: Project; readonly page: Page }
  | { readonly kind: 'action'; readonly id: ActionId }
  | { readonly kind: 'missing'; readonly slug: string }

/** See the head of this file. */
export class Store {
  readonly navigation = new Navigation()
  readonly notices = new Notices()
  readonly theme = new ThemeChoice()
  readonly log: Log = new Log((events) => {
    this.#commands.confirm(events)
    this.governance.story.follow(events)
    this.talks.talk.follow(events)
  })
  readonly audit = new Audit(() => this.log.loggedOut())
  readonly #commands = new Commands(() => this.log.loggedOut())
  readonly governance = new Governance({
    log: this.log,
    commands: this.#commands,
    navigation: this.navigation,
    notices: this.notices,
  })
  readonly talks = new Talks({ log: this.log, commands: this.#commands, navigation: this.navigation, notices: this.notices })
  readonly operations = new Operations({ log: this.log, commands: this.#commands, notices: this.notices })

  readonly #open = $derived(openProjects(this.log.folded.projects))
  readonly #closed = $derived(closedProjects(this.log.folded.projects))
  readonly #view = $derived.by(() => this.#lookedAt())

  /** The session that the chat on the screen shows, or null. */
  get talkedIn(): SessionId | null {
    const { route } = this.navigation
    const chatting = this.#view.kind === 'project' && (this.#view.page === 'chat' || route.beside === 'chat')
    return chatting ? route.session : null
  }

  /** The open projects, by name. */
  get projects(): readonly Project[] {
    return this.#open
  }

  /** The closed projects, by name. */
  get closedProjects(): readonly Project[] {
    return this.#closed
  }

  /** Commands that the log has not confirmed yet. */
  get pending(): readonly Pending[] {
    return this.#commands.pending
  }

  /** What the address points at. */
  get view(): View {
    return this.#view
  }

  /** Why no command can be given now, or null. */
  get blocked(): string | null {
    return this.log.connection.kind === 'live' ? null : 'The daemon is not connected'
  }

  /** Opens a folder as a project and shows it; the answer is why it failed, or null. */
  async openProject(path: string): Promise<string | null> {
    const outcome = await this.#commands.send({ kind: 'open', path: path.trim() })
    switch (outcome.kind) {
      case 'failed':
        return outcome.reason
      case 'already':
        this.notices.add('info', `${outcome.project.name} is already open.`)
        this.navigation.go({ kind: 'project', slug: outcome.project.slug, page: 'timeline' })
        return null
      case 'agreed':
        return null
      case 'done':
        if (outcome.event?.kind === 'PROJECT_OPENED') {
          this.navigation.go({ kind: 'project', slug: outcome.event.body.slug, page: 'timeline' })
        }
        return null
    }
  }

  /** Closes a project. Its folder and its events stay. */
  async closeProject(project: Project): Promise<void> {
    const outcome = await this.#commands.send({ kind: 'close', project: project.id, name: project.name })
    if (outcome.kind === 'failed') this.notices.add('error', outcome.reason)
  }

  /** Begins: follows the log, the address, and the signs that a retry is worthwhile. */
  start(): () => void {
    const ends = [this.navigation.listen(), this.#wakeups(), this.#look(), this.#govern(), this.#operate(), this.#converse()]
    this.log.follow()
    return () => {
      for (const end of ends) end()
      this.log.stop()
    }
  }

  #wakeups(): () => void {
    const wake = (): void => {
      if (document.hidden) return
      if (this.log.connection.kind === 'loggedOut') this.log.follow()
      else this.log.retryNow()
    }
    addEventListener('online', wake)
    document.addEventListener('visibilitychange', wake)
    return () => {
      removeEventListener('online', wake)
      document.removeEventListener('visibilitychange', wake)
    }
  }

  #look(): () => void {
    // Looking walks every event, so it depends on nothing but these three.
    const kind = $derived(this.#view.kind)
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const filter = $derived(this.navigation.route.filter)
    return $effect.root(() => {
      $effect(() => this.log.look(scopeOf(kind, project), filter))
    })
  }

  /** Keeps what governs up to date, and calls the person when something waits. */
  #govern(): () => void {
    const { governance, log, navigation } = this
    const { desk } = governance
    const page = $derived(this.#view.kind === 'project' ? this.#view.page : null)
    const pages = $derived(this.#view.kind === 'project' ? [this.#view.page, navigation.route.beside].join(' ') : '')
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const action = $derived(this.#view.kind === 'action' ? this.#view.id : null)
    const sealedGrants = $derived(log.folded.grants.sealed)
    const settled = $derived(!log.replaying && log.connection.kind === 'live')
    const pending = $derived(governance.pending)
    const linked = $derived(navigation.route.approval)
    const mark = $derived(project === null ? 0 : governance.mark(project))
    const approvals = $derived(log.folded.approvals)
    return $effect.root(() => {
      $effect(() => {
        // Read here, because what is read in `untrack` is not followed.
        const [where, shown] = [project, pages]
        void mark
        if (settled || where === null) untrack(() => governance.readFiles(where, shown))
      })
      $effect(() => {
        if (settled && approvals.sealed >= 0) void untrack(() => governance.unseal())
      })
      $effect(() => {
        const id = action
        if (settled || id === null) void untrack(() => governance.story.read(id))
      })
      $effect(() => {
        void sealedGrants
        const where = project
        if (where !== null && page === 'grants' && settled) void untrack(() => governance.readGrants(where))
      })
      $effect(() => {
        const { all } = approvals
        untrack(() => governance.answers.keep(all))
        const waiting = pending
        if (log.replaying) return
        untrack(() => {
          governance.moveOn()
          this.#call(desk.notice(waiting, this.talkedIn === null ? 'elsewhere' : 'talking'))
        })
      })
      $effect(() => {
        const id = linked
        if (log.replaying) return
        untrack(() => (id === null ? desk.remind() : governance.showLinked(id)))
      })
    })
  }

  /** Asks how the kernel of the project that is looked at stands, and for what the log only names. */
  #operate(): () => void {
    const { log, operations } = this
    const project = $derived(this.#view.kind === 'project' ? this.#view.project.id : null)
    const sealed = $derived(project !== null && operations.of(project).sealed)
    const kernel = $derived(project === null ? 'none' : operations.of(project).kernel.kind)
    const settled = $derived(!log.replaying && log.connection.kind === 'live')
    return $effect.root(() => {
      $effect(() => {
        const id = project
        // Read here, because each is a reason to ask at once.
        void [sealed, kernel]
        if (id === null || !settled) return
        const look = (): void => {
          if (!document.hidden) void untrack(() => operations.refresh(id))
        }
        look()
        const timer = setInterval(look, sealed ? SEALED_MS : HEARTBEAT_MS)
        return () => clearInterval(timer)
      })
    })
  }

  /** Reads the conversation that is looked at, and what the log only names. */
  #converse(): () => void {
    const { log, navigation, talks } = this
    const chatting = $derived(this.#view.kind === 'project' && (this.#view.page === 'chat' || navigation.route.beside === 'chat'))
    const session = $derived(this.talkedIn)
    const settled = $derived(!log.replaying && log.connection.kind === 'live')
    const sealed = $derived(log.folded.sessions.sealed)
    return $effect.root(() => {
      $effect(() => {
        const id = session
        if (settled || id === null) void untrack(() => talks.talk.read(id))
      })
      $effect(() => {
        if (settled && sealed > 0) void untrack(() => talks.unseal())
      })
      $effect(() => {
        if (settled && chatting) void untrack(() => talks.models.read('/api/models'))
      })
    })
  }

  #call(fresh: readonly Approval[]): void {
    const [first] = fresh
    if (first === undefined) return
    const { alerts, desk, pending } = this.governance
    const title = pending.length === 1 ? 'A request waits for your answer' : `${String(pending.length)} requests wait for your answer`
    alerts.say('approvals', title, 'Open Provost to decide.', () => desk.show(this.governance.pending, first.id))
  }

  #lookedAt(): View {
    const { place } = this.navigation.route
    switch (place.kind) {
      case 'all':
        return { kind: 'all' }
      case 'action':
        return { kind: 'action', id: place.id }
      case 'home':
        if (this.#open.length > 0) return { kind: 'all' }
        return this.log.replaying ? { kind: 'reading' } : { kind: 'welcome' }
      case 'project': {
        const project = projectBySlug(this.log.folded.projects, place.slug)
        if (project !== undefined) return { kind: 'project', project, page: place.page }
        return this.log.replaying ? { kind: 'reading' } : { kind: 'missing', slug: place.slug }
      }
    }
  }
}

function scopeOf(kind: View['kind'], project: ProjectId | null): Scope {
  if (kind === 'all') return { kind: 'all' }
  return project === null ? { kind: 'none' } : { kind: 'project', id: project }
}

const [use, provide] = createContext<Store>()

/** The page's store, for a component. */
export const useStore = use

/** Makes the store known to all components below. */
export const provideStore = provide
