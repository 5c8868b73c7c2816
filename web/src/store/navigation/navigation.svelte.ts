/** The route of the page as reactive state, stored in the browser's history. */
import type { ApprovalId, NotebookId, SessionId } from '../../proto/index.ts'
import { formatRoute, HOME, parseRoute, type Route, type RouteTarget, type SidePageName } from './route.ts'
import { NO_FILTER, type EventFilter } from '../timeline/filter.ts'

/** The current route, and how to change it. */
export class Navigation {
  #route = $state.raw<Route>(parseRoute(location.hash))

  /** The current route. */
  get route(): Route {
    return this.#route
  }

  /** The href of a target. The side page stays. */
  href(target: RouteTarget): string {
    return formatRoute({ ...HOME, target, sidePage: this.#route.sidePage, session: this.#sessionFor(target) })
  }

  /** The href of a session. */
  sessionHref(slug: string, session: SessionId | null): string {
    return formatRoute({ ...HOME, target: { kind: 'project', slug, page: 'chat' }, sidePage: this.#route.sidePage, session })
  }

  /** Navigates to a target. The filter and the open event are cleared, an open approval stays. */
  go(target: RouteTarget): void {
    this.#setRoute({ ...this.#route, target, filter: NO_FILTER, event: null, session: this.#sessionFor(target), notebook: null }, 'push')
  }

  /** Shows another session in the chat; null is a new one. */
  showSession(session: SessionId | null): void {
    if (session !== this.#route.session) this.#setRoute({ ...this.#route, session }, 'push')
  }

  /** Navigates to the chat page with a session. */
  goToSession(slug: string, session: SessionId): void {
    this.#setRoute({ ...this.#route, target: { kind: 'project', slug, page: 'chat' }, filter: NO_FILTER, event: null, session, notebook: null }, 'push')
  }

  /** The href of a notebook; null is the list. */
  notebookHref(slug: string, notebook: NotebookId | null): string {
    return formatRoute({ ...HOME, target: { kind: 'project', slug, page: 'notebooks' }, sidePage: this.#route.sidePage, notebook })
  }

  /** Shows another notebook; null is the list. */
  showNotebook(notebook: NotebookId | null): void {
    if (notebook !== this.#route.notebook) this.#setRoute({ ...this.#route, notebook }, 'push')
  }

  /** Changes the filter of the timeline. */
  setFilter(filter: EventFilter): void {
    this.#setRoute({ ...this.#route, filter }, 'replace')
  }

  /** Shows the details of an event; null closes them. */
  showEvent(event: string | null): void {
    this.#setRoute({ ...this.#route, event }, 'replace')
  }

  /** Shows a page of the project beside the current one; null shows none. */
  showSidePage(page: SidePageName | null): void {
    this.#setRoute({ ...this.#route, sidePage: page }, 'replace')
  }

  /** Shows an approval in the drawer; null shows none. */
  showApproval(id: ApprovalId | null): void {
    if (id !== this.#route.approval) this.#setRoute({ ...this.#route, approval: id }, 'replace')
  }

  /** The href of an approval. */
  approvalHref(id: ApprovalId): string {
    return formatRoute({ ...HOME, target: { kind: 'all' }, approval: id })
  }

  /** The href of an event in the timeline of all events. */
  eventHref(event: string): string {
    return formatRoute({ ...HOME, target: { kind: 'all' }, event })
  }

  /** Follows changes of the address (back, forward, typed). Returns a function that stops it. */
  listen(): () => void {
    const update = (): void => {
      this.#route = parseRoute(location.hash)
    }
    addEventListener('hashchange', update)
    addEventListener('popstate', update)
    return () => {
      removeEventListener('hashchange', update)
      removeEventListener('popstate', update)
    }
  }

  /** The session stays within its project. */
  #sessionFor(target: RouteTarget): SessionId | null {
    const { target: current, session } = this.#route
    return current.kind === 'project' && target.kind === 'project' && current.slug === target.slug ? session : null
  }

  #setRoute(route: Route, method: 'push' | 'replace'): void {
    const hash = formatRoute(route)
    if (method === 'push' && hash !== location.hash) history.pushState(null, '', hash)
    else history.replaceState(null, '', hash)
    this.#route = route
  }
}
