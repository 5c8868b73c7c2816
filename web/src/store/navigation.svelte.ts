/** The address of the page as state. The browser's history is its only memory. */
import { formatRoute, parseRoute, type Place, type Route } from './route.ts'
import { NO_FILTER, type Filter } from './filter.ts'

/** Where we are, and the ways to go elsewhere. */
export class Navigation {
  #route = $state.raw<Route>(parseRoute(location.hash))

  /** The address as it is now. */
  get route(): Route {
    return this.#route
  }

  /** The address of a place, for links. */
  href(place: Place): string {
    return formatRoute({ place, filter: NO_FILTER, event: null })
  }

  /** Goes to a place; filters and the open event stay behind. */
  go(place: Place): void {
    this.#move({ place, filter: NO_FILTER, event: null }, 'push')
  }

  /** Looks at other events of the same place. */
  filter(filter: Filter): void {
    this.#move({ ...this.#route, filter }, 'replace')
  }

  /** Opens the particulars of an event, or closes them. */
  event(seq: number | null): void {
    this.#move({ ...this.#route, event: seq }, 'replace')
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

  #move(route: Route, how: 'push' | 'replace'): void {
    const hash = formatRoute(route)
    if (how === 'push' && hash !== location.hash) history.pushState(null, '', hash)
    else history.replaceState(null, '', hash)
    this.#route = route
  }
}
