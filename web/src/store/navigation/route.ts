/**
 * The routes of the page. The route is in the URL fragment, so that it can be linked,
 * reloaded and navigated back from. Pure.
 */
import type { ActionId, ApprovalId, NotebookId, SessionId } from '../../proto/index.ts'
import { NO_FILTER, type EventFilter } from '../timeline/filter.ts'

/** The pages of a project. */
export const PAGES = ['chat', 'run', 'terminal', 'preview', 'notebooks', 'timeline', 'roles', 'policy', 'grants'] as const

/** The name of a page of a project. */
export type PageName = (typeof PAGES)[number]

/** The pages that can be shown beside another one. */
export const SIDE_PAGES = ['chat', 'run', 'terminal', 'preview', 'timeline'] as const

/** The name of a page that can be shown beside another one. */
export type SidePageName = (typeof SIDE_PAGES)[number]

/** What the main area shows. */
export type RouteTarget =
  | { readonly kind: 'home' }
  | { readonly kind: 'all' }
  | { readonly kind: 'project'; readonly slug: string; readonly page: PageName }
  | { readonly kind: 'action'; readonly id: ActionId }

/** A complete route. */
export type Route = {
  readonly target: RouteTarget
  readonly filter: EventFilter
  /** The number of the event whose details are shown, as the daemon writes it. */
  readonly event: string | null
  /** The approval that the drawer shows. */
  readonly approval: ApprovalId | null
  /** The page that is shown to the right of the other. */
  readonly sidePage: SidePageName | null
  /** The session that the chat shows. */
  readonly session: SessionId | null
  /** The notebook that the notebooks page shows; null is the list. */
  readonly notebook: NotebookId | null
}

/** The start page. */
export const HOME: Route = { target: { kind: 'home' }, filter: NO_FILTER, event: null, approval: null, sidePage: null, session: null, notebook: null }

/** Parses `location.hash`; an unknown route is the start page. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const params = new URLSearchParams(query)
  return {
    target: parseTarget(path),
    filter: { kinds: params.getAll('kind'), actors: params.getAll('actor'), text: params.get('q') ?? '' },
    event: /^[1-9]\d{0,19}$/.exec(params.get('event') ?? '')?.[0] ?? null,
    approval: params.get('approval'),
    sidePage: SIDE_PAGES.find((name) => name === params.get('beside')) ?? null,
    session: params.get('session'),
    notebook: params.get('notebook'),
  }
}

/** Formats a route so that `parseRoute` parses it. */
export function formatRoute(route: Route): string {
  const params = new URLSearchParams()
  for (const kind of route.filter.kinds) params.append('kind', kind)
  for (const actor of route.filter.actors) params.append('actor', actor)
  if (route.filter.text !== '') params.set('q', route.filter.text)
  if (route.event !== null) params.set('event', route.event)
  if (route.approval !== null) params.set('approval', route.approval)
  if (route.sidePage !== null && route.target.kind === 'project') params.set('beside', route.sidePage)
  if (route.session !== null && route.target.kind === 'project') params.set('session', route.session)
  if (route.notebook !== null && route.target.kind === 'project') params.set('notebook', route.notebook)
  const query = params.toString()
  return `#${formatTarget(route.target)}${query === '' ? '' : `?${query}`}`
}

function parseTarget(path: string): RouteTarget {
  if (path === '/timeline') return { kind: 'all' }
  const action = decode(/^\/actions\/([^/]+)$/.exec(path)?.[1])
  if (action !== null) return { kind: 'action', id: action }
  const match = /^\/projects\/([^/]+)\/([a-z]+)$/.exec(path)
  const slug = decode(match?.[1])
  const page = PAGES.find((name) => name === match?.[2])
  return slug === null || page === undefined ? { kind: 'home' } : { kind: 'project', slug, page }
}

function decode(part: string | undefined): string | null {
  if (part === undefined) return null
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

function formatTarget(target: RouteTarget): string {
  switch (target.kind) {
    case 'home':
      return '/'
    case 'all':
      return '/timeline'
    case 'action':
      return `/actions/${encodeURIComponent(target.id)}`
    case 'project':
      return `/projects/${encodeURIComponent(target.slug)}/${target.page}`
  }
}
