/**
 * The page token: the half of a login that is not in the cookie.
 *
 * A browser sends a cookie to every port of a host, but only pages of our origin
 * can read this storage. The daemon accepts a request only with both halves.
 * A login link puts the token into the URL fragment, which is never sent to a
 * server; it is removed from the address before anything else happens.
 */

/** The request header that carries the token. */
export const PAGE_HEADER = 'provost-page'

const STORAGE_KEY = 'provost.page'
const FRAGMENT = /^#page=([\w-]{1,256})$/
const CHECK_TIMEOUT_MS = 10_000

/** The browser functions that are needed; tests replace them. */
export type PageTokenEnvironment = {
  readonly hash: () => string
  /** Removes the fragment from the address and from the history. */
  readonly clearHash: () => void
  readonly read: () => string | null
  readonly write: (token: string) => void
  readonly fetch: typeof fetch
}

/** Where storage is forbidden, the token lasts as long as the page. */
let inMemory: string | null = null

const BROWSER: PageTokenEnvironment = {
  hash: () => location.hash,
  clearHash: () => history.replaceState(null, '', location.pathname + location.search),
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
  const token = FRAGMENT.exec(environment.hash())?.[1]
  if (token === undefined) return
  environment.clearHash()
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
