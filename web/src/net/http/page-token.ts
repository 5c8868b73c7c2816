/**
 * What this page keeps of a login: the half that no cookie holds.
 *
 * A browser sends a cookie to every port of a host; what is stored here only
 * pages of our own origin can read. The daemon knows us by both or not at all.
 * The link that logs in leads here with the half in the fragment, which is sent
 * to nobody and is gone from the address before anything else is done.
 */

/** The header in which it is sent. */
export const PAGE_HEADER = 'provost-page'

const KEY = 'provost.page'
const FRAGMENT = /^#page=([\w-]{1,256})$/
const CHECK_MS = 10_000

/** What it needs from its surroundings, so that a test can bring its own. */
export type Keep = {
  readonly hash: () => string
  /** Takes the fragment out of the address and out of the history. */
  readonly forget: () => void
  readonly read: () => string | null
  readonly write: (half: string) => void
  readonly fetch: typeof fetch
}

/** Where storage is forbidden, a login lasts as long as the page. */
let remembered: string | null = null

const BROWSER: Keep = {
  hash: () => location.hash,
  forget: () => history.replaceState(null, '', location.pathname + location.search),
  read: () => {
    try {
      return localStorage.getItem(KEY) ?? remembered
    } catch {
      return remembered
    }
  },
  write: (half) => {
    remembered = half
    try {
      localStorage.setItem(KEY, half)
    } catch {
      // It is remembered by this page.
    }
  },
  fetch: (...args) => fetch(...args),
}

/** The headers that make a request this page's. Read each time: another tab may log in. */
export function pageHeaders(keep: Keep = BROWSER): Readonly<Record<string, string>> {
  const half = keep.read()
  return half === null ? {} : { [PAGE_HEADER]: half }
}

/**
 * Takes what a login link brought, if this address is one's.
 *
 * Anybody can lead here with a fragment of their own: one that does not work
 * never takes the place of another.
 */
export async function adopt(keep: Keep = BROWSER): Promise<void> {
  const fresh = FRAGMENT.exec(keep.hash())?.[1]
  if (fresh === undefined) return
  keep.forget()
  if (keep.read() === null || (await works(fresh, keep))) keep.write(fresh)
}

async function works(half: string, keep: Keep): Promise<boolean> {
  try {
    const headers = { accept: 'application/json', [PAGE_HEADER]: half }
    const signal = AbortSignal.timeout(CHECK_MS)
    const response = await keep.fetch('/api/projects', { headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error', signal })
    return response.ok
  } catch {
    return false
  }
}
