/**
 * Addresses inside the page: what is looked at is in the fragment, so that it
 * can be linked, reloaded and gone back from. Pure.
 */
import type { ActionId, ApprovalId, SessionId } from '../../proto/index.ts'
import { NO_FILTER, type Filter } from '../timeline/filter.ts'

/** What can be looked at of a project. */
export const PAGES = ['chat', 'run', 'terminal', 'preview', 'timeline', 'roles', 'policy', 'grants'] as const

/** One of them. */
export type Page = (typeof PAGES)[number]

/** What can be looked at beside another page. */
export const BESIDE = ['chat', 'run', 'terminal', 'preview', 'timeline'] as const

/** One of them. */
export type Beside = (typeof BESIDE)[number]

/** Where in the page we are. */
export type Place =
  | { readonly kind: 'home' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly slug: string; readonly page: Page }
  | { readonly kind: 'action'; readonly id: ActionId }

/** The whole address. */
export type Route = {
  readonly place: Place
  readonly filter: Filter
  /** The event whose particulars are shown, by its place in the log. */
  readonly event: number | null
  /** The question that is looked at in the drawer. */
  readonly approval: ApprovalId | null
  /** The page of the project that is shown at the right of the other. */
  readonly beside: Beside | null
  /** The session that the chat shows. */
  readonly session: SessionId | null
}

/** Where the page begins. */
export const HOME: Route = { place: { kind: 'home' }, filter: NO_FILTER, event: null, approval: null, beside: null, session: null }

/** Reads `location.hash`; what it does not understand is home. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const params = new URLSearchParams(query)
  const seq = Number(params.get('event'))
  return {
    place: parsePlace(path),
    filter: { kinds: params.getAll('kind'), actors: params.getAll('actor'), text: params.get('q') ?? '' },
    event: Number.isSafeInteger(seq) && seq > 0 ? seq : null,
    approval: params.get('approval'),
    beside: BESIDE.find((name) => name === params.get('beside')) ?? null,
    session: params.get('session'),
  }
}

/** Writes what `parseRoute` reads. */
export function formatRoute(route: Route): string {
  const params = new URLSearchParams()
  for (const kind of route.filter.kinds) params.append('kind', kind)
  for (const actor of route.filter.actors) params.append('actor', actor)
  if (route.filter.text !== '') params.set('q', route.filter.text)
  if (route.event !== null) params.set('event', String(route.event))
  if (route.approval !== null) params.set('approval', route.approval)
  if (route.beside !== null && route.place.kind === 'project') params.set('beside', route.beside)
  if (route.session !== null && route.place.kind === 'project') params.set('session', route.session)
  const query = params.toString()
  return `#${formatPlace(route.place)}${query === '' ? '' : `?${query}`}`
}

function parsePlace(path: string): Place {
  if (path === '/timeline') return { kind: 'all' }
  const action = decoded(/^\/actions\/([^/]+)$/.exec(path)?.[1])
  if (action !== null) return { kind: 'action', id: action }
  const match = /^\/projects\/([^/]+)\/([a-z]+)$/.exec(path)
  const slug = decoded(match?.[1])
  const page = PAGES.find((name) => name === match?.[2])
  return slug === null || page === undefined ? { kind: 'home' } : { kind: 'project', slug, page }
}

function decoded(part: string | undefined): string | null {
  if (part === undefined) return null
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

function formatPlace(place: Place): string {
  switch (place.kind) {
    case 'home':
      return '/'
    case 'all':
      return '/timeline'
    case 'action':
      return `/actions/${encodeURIComponent(place.id)}`
    case 'project':
      return `/projects/${encodeURIComponent(place.slug)}/${place.page}`
  }
}
