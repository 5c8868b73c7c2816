/**
 * Addresses inside the page: what is looked at is in the fragment, so that it
 * can be linked, reloaded and gone back from. Pure.
 */
import { NO_FILTER, type Filter } from './filter.ts'

/** Where in the page we are. */
export type Place =
  | { readonly kind: 'home' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly slug: string }

/** The whole address. */
export type Route = {
  readonly place: Place
  readonly filter: Filter
  /** The event whose particulars are shown, by its place in the log. */
  readonly event: number | null
}

/** Where the page begins. */
export const HOME: Route = { place: { kind: 'home' }, filter: NO_FILTER, event: null }

/** Reads `location.hash`; what it does not understand is home. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const params = new URLSearchParams(query)
  const seq = Number(params.get('event'))
  return {
    place: parsePlace(path),
    filter: { kinds: params.getAll('kind'), actors: params.getAll('actor'), text: params.get('q') ?? '' },
    event: Number.isSafeInteger(seq) && seq > 0 ? seq : null,
  }
}

/** Writes what `parseRoute` reads. */
export function formatRoute(route: Route): string {
  const params = new URLSearchParams()
  for (const kind of route.filter.kinds) params.append('kind', kind)
  for (const actor of route.filter.actors) params.append('actor', actor)
  if (route.filter.text !== '') params.set('q', route.filter.text)
  if (route.event !== null) params.set('event', String(route.event))
  const query = params.toString()
  return `#${formatPlace(route.place)}${query === '' ? '' : `?${query}`}`
}

function parsePlace(path: string): Place {
  if (path === '/timeline') return { kind: 'all' }
  const slug = /^\/projects\/([^/]+)\/timeline$/.exec(path)?.[1]
  if (slug === undefined) return { kind: 'home' }
  try {
    return { kind: 'project', slug: decodeURIComponent(slug) }
  } catch {
    return { kind: 'home' }
  }
}

function formatPlace(place: Place): string {
  switch (place.kind) {
    case 'home':
      return '/'
    case 'all':
      return '/timeline'
    case 'project':
      return `/projects/${encodeURIComponent(place.slug)}/timeline`
  }
}
