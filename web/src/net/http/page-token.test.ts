/** The page token: the half of a login that the page stores. */
import { describe, expect, it } from 'vitest'
import { adoptPageToken, PAGE_HEADER, pageTokenHeaders, type PageTokenEnvironment } from './page-token.ts'

/** A browser whose daemon accepts one token. */
function browser(hash: string, stored: string | null, accepted: string) {
  const state = { hash, stored, checked: [] as (string | null)[] }
  const environment: PageTokenEnvironment = {
    hash: () => state.hash,
    replaceHash: (replaced) => (state.hash = replaced),
    read: () => state.stored,
    write: (token) => (state.stored = token),
    fetch: (_, init) => {
      // The fragment is removed before any request.
      expect(state.hash).not.toContain('page=')
      const token = new Headers(init?.headers).get(PAGE_HEADER)
      state.checked.push(token)
      return Promise.resolve(new Response('{}', { status: token === accepted ? 200 : 401 }))
    },
  }
  return { state, environment }
}

describe('the page token', () => {
  it.each([
    ['is taken from the address of a login', '#page=new', null, 'new', 'new'],
    ['replaces an expired one', '#page=new', 'old', 'new', 'new'],
    ['is not replaced by a made-up one', '#page=evil', 'old', 'old', 'old'],
    ['stays when the address has none', '#/timeline', 'old', 'old', 'old'],
    ['has only word characters', '#page=<b>', null, 'x', null],
  ])('%s', async (_, hash, stored, accepted, expected) => {
    const { state, environment } = browser(hash, stored, accepted)
    await adoptPageToken(environment)
    expect(state.stored).toBe(expected)
    expect(state.hash).toBe(/^#page=\w+$/.test(hash) ? '' : hash)
  })

  it('leaves the route behind it in the address', async () => {
    const { state, environment } = browser('#page=new/projects/atlas/timeline', null, 'new')
    await adoptPageToken(environment)
    expect(state).toMatchObject({ stored: 'new', hash: '#/projects/atlas/timeline' })
  })

  it('is sent as a header once there is one', () => {
    expect(pageTokenHeaders(browser('', null, 'x').environment)).toEqual({})
    expect(pageTokenHeaders(browser('', 'token', 'token').environment)).toEqual({ [PAGE_HEADER]: 'token' })
  })
})
