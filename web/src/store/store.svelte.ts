/**
 * All state of the page, and every deed that can be done from it.
 *
 * One is made when the page starts; features find it with `useStore` and read
 * or call it, and that is all they do.
 */
import { createContext } from 'svelte'
import type { Project, ProjectId } from '../proto/index.ts'
import { Audit } from './audit.svelte.ts'
import { Commands, type Pending } from './commands.svelte.ts'
import type { Scope } from './filter.ts'
import { Log } from './log.svelte.ts'
import { Navigation } from './navigation.svelte.ts'
import { Notices } from './notices.svelte.ts'
import { closedProjects, openProjects, projectBySlug } from './projects.ts'
import { ThemeChoice } from './theme.svelte.ts'

/** What the address points at, as far as the log knows it. */
export type View =
  | { readonly kind: 'reading' }
  | { readonly kind: 'welcome' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly project: Project }
  | { readonly kind: 'missing'; readonly slug: string }

/** See the head of this file. */
export class Store {
  readonly navigation = new Navigation()
  readonly notices = new Notices()
  readonly theme = new ThemeChoice()
  readonly log: Log = new Log((events) => this.#commands.confirm(events))
  readonly audit = new Audit(() => this.log.loggedOut())
  readonly #commands = new Commands(() => this.log.loggedOut())

  readonly #open = $derived(openProjects(this.log.folded.projects))
  readonly #closed = $derived(closedProjects(this.log.folded.projects))
  readonly #view = $derived.by(() => this.#lookedAt())

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
        this.navigation.go({ kind: 'project', slug: outcome.project.slug })
        return null
      case 'done':
        if (outcome.event.kind === 'PROJECT_OPENED') {
          this.navigation.go({ kind: 'project', slug: outcome.event.body.slug })
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
    const ends = [this.navigation.listen(), this.#wakeups(), this.#look()]
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

  #lookedAt(): View {
    const { place } = this.navigation.route
    switch (place.kind) {
      case 'all':
        return { kind: 'all' }
      case 'home':
        if (this.#open.length > 0) return { kind: 'all' }
        return this.log.replaying ? { kind: 'reading' } : { kind: 'welcome' }
      case 'project': {
        const project = projectBySlug(this.log.folded.projects, place.slug)
        if (project !== undefined) return { kind: 'project', project }
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
