/** The address of the page as state. The browser's history is its only memory. */
import type { ApprovalId, SessionId } from '../../proto/index.ts'
import { formatRoute, HOME, parseRoute, type Beside, type Place, type Route } from './route.ts'
import { NO_FILTER, type Filter } from '../timeline/filter.ts'

/** Where we are, and the ways to go elsewhere. */
export class Navigation {
  #route = $state.raw<Route>(parseRoute(location.hash))

  /** The address as it is now. */
  get route(): Route {
    return this.#route
  }

  /** The address of a place, for links. What stands beside it stays. */
  href(place: Place): string {
    return formatRoute({ ...HOME, place, beside: this.#route.beside, session: this.#sessionAt(place) })
  }

  /** The address of a session. */
  sessionHref(slug: string, session: SessionId | null): string {
    return formatRoute({ ...HOME, place: { kind: 'project', slug, page: 'chat' }, beside: this.#route.beside, session })
  }

  /** Goes to a place; filters and the open event stay behind, an open question comes along. */
  go(place: Place): void {
    this.#move({ ...this.#route, place, filter: NO_FILTER, event: null, session: this.#sessionAt(place) }, 'push')
  }

  /** Shows another session in the chat, wherever that is; null is a new one. */
  session(session: SessionId | null): void {
    if (session !== this.#route.session) this.#move({ ...this.#route, session }, 'push')
  }

  /** Goes to a session. */
  talk(slug: string, session: SessionId): void {
    this.#move({ ...this.#route, place: { kind: 'project', slug, page: 'chat' }, filter: NO_FILTER, event: null, session }, 'push')
  }

  /** Looks at other events of the same place. */
  filter(filter: Filter): void {
    this.#move({ ...this.#route, filter }, 'replace')
  }

  /** Opens the particulars of an event, or closes them. */
  event(seq: number | null): void {
    this.#move({ ...this.#route, event: seq }, 'replace')
  }

  /** Shows another page of the project beside the one that is shown, or none. */
  beside(page: Beside | null): void {
    this.#move({ ...this.#route, beside: page }, 'replace')
  }

  /** Looks at a question in the drawer, or at none. */
  approval(id: ApprovalId | null): void {
    if (id !== this.#route.approval) this.#move({ ...this.#route, approval: id }, 'replace')
  }

  /** The address of a question, wherever we are. */
  approvalHref(id: ApprovalId): string {
    return formatRoute({ ...HOME, place: { kind: 'all' }, approval: id })
  }

  /** The address of an event among all. */
  eventHref(seq: number): string {
    return formatRoute({ ...HOME, place: { kind: 'all' }, event: seq })
  }

  /** Follows the browser's back, forward and typed addresses; returns how to stop. */
  listen(): () => void {
    const read = (): void => {
      this.#route = parseRoute(location.hash)
    }
    addEventListener('hashchange', read)
    addEventListener('popstate', read)
    return () => {
      removeEventListener('hashchange', read)
      removeEventListener('popstate', read)
    }
  }

  /** The session stays while we stay in its project. */
  #sessionAt(place: Place): SessionId | null {
    const { place: here, session } = this.#route
    return here.kind === 'project' && place.kind === 'project' && here.slug === place.slug ? session : null
  }

  #move(route: Route, how: 'push' | 'replace'): void {
    const hash = formatRoute(route)
    if (how === 'push' && hash !== location.hash) history.pushState(null, '', hash)
    else history.replaceState(null, '', hash)
    this.#route = route
  }
}
