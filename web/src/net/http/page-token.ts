/**
 * The page token: the half of a login that is not in the cookie.
 *
 * A browser sends a cookie to every port of a host, but only pages of our origin
 * can read this storage. The daemon accepts a request only with both halves.
 * A login link puts the token into the URL fragment, which is never sent to a
 * server; it is removed from the address before anything else happens. A route
 * behind it stays, so that a login leads to a project.
 */

/** The request header that carries the token. */
export const PAGE_HEADER = 'provost-page'

const STORAGE_KEY = 'provost.page'
/** The token, and the route that the page shows after the login. */
const FRAGMENT = /^#page=([\w-]{1,256})(\/.*)?$/
const CHECK_TIMEOUT_MS = 10_000

/** The browser functions that are needed; tests replace them. */
export type PageTokenEnvironment = {
  readonly hash: () => string
  /** Replaces the fragment in the address and in the history; '' removes it. */
  readonly replaceHash: (hash: string) => void
  readonly read: () => string | null
  readonly write: (token: string) => void
  readonly fetch: typeof fetch
}

/** Where storage is forbidden, the token lasts as long as the page. */
let inMemory: string | null = null

const BROWSER: PageTokenEnvironment = {
  hash: () => location.hash,
  replaceHash: (hash) => {
    history.replaceState(null, '', location.pathname + location.search + hash)
    // The history API does not report the change to those who follow the address.
    if (hash !== '') dispatchEvent(new HashChangeEvent('hashchange'))
  },
  read: () => {
    try {
      return localStorage.getItem(STORAGE_KEY) ?? inMemory
    } catch {
      return inMemory
    }
  },
  write: (token) => {
    inMemory = token
    try {
      localStorage.setItem(STORAGE_KEY, token)
    } catch {
      // Storage is forbidden; the copy in memory is used.
    }
  },
  fetch: (...args) => fetch(...args),
}

/** The headers that authenticate a request of this page. Read each time, because another tab may log in. */
export function pageTokenHeaders(environment: PageTokenEnvironment = BROWSER): Readonly<Record<string, string>> {
  const token = environment.read()
  return token === null ? {} : { [PAGE_HEADER]: token }
}

/**
 * Stores the token of a login link, if the address is one.
 *
 * Anyone can link here with a made-up fragment, so a token that the daemon does
 * not accept never replaces an existing one.
 */
export async function adoptPageToken(environment: PageTokenEnvironment = BROWSER): Promise<void> {
  const [, token, route] = FRAGMENT.exec(environment.hash()) ?? []
  if (token === undefined) return
  environment.replaceHash(route === undefined ? '' : `#${route}`)
  if (environment.read() === null || (await isAccepted(token, environment))) environment.write(token)
}

async function isAccepted(token: string, environment: PageTokenEnvironment): Promise<boolean> {
  try {
    const headers = { accept: 'application/json', [PAGE_HEADER]: token }
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS)
    const response = await environment.fetch('/api/projects', { headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error', signal })
    return response.ok
  } catch {
    return false
  }
}
