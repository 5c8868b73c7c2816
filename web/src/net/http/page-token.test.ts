/** The half of a login that the page keeps. */
import { describe, expect, it } from 'vitest'
import { adopt, PAGE_HEADER, pageHeaders, type Keep } from './page-token.ts'

/** A browser whose daemon knows one half. */
function browser(hash: string, stored: string | null, known: string) {
  const state = { hash, stored, asked: [] as (string | null)[] }
  const keep: Keep = {
    hash: () => state.hash,
    forget: () => (state.hash = ''),
    read: () => state.stored,
    write: (half) => (state.stored = half),
    fetch: (_, init) => {
      // What is in the address is gone before anything is asked.
      expect(state.hash).toBe('')
      const half = new Headers(init?.headers).get(PAGE_HEADER)
      state.asked.push(half)
      return Promise.resolve(new Response('{}', { status: half === known ? 200 : 401 }))
    },
  }
  return { state, keep }
}

describe('the half of a login that the page keeps', () => {
  it.each([
    ['is taken from the address of a login', '#page=new', null, 'new', 'new'],
    ['replaces one that it outlives', '#page=new', 'old', 'new', 'new'],
    ['is not replaced by one that somebody made up', '#page=evil', 'old', 'old', 'old'],
    ['stays where the address says nothing of it', '#/timeline', 'old', 'old', 'old'],
    ['is nothing but a word', '#page=<b>', null, 'x', null],
  ])('%s', async (_, hash, stored, known, expected) => {
    const { state, keep } = browser(hash, stored, known)
    await adopt(keep)
    expect(state.stored).toBe(expected)
    expect(state.hash).toBe(/^#page=\w+$/.test(hash) ? '' : hash)
  })

  it('is sent with what the page asks, once there is one', () => {
    expect(pageHeaders(browser('', null, 'x').keep)).toEqual({})
    expect(pageHeaders(browser('', 'half', 'half').keep)).toEqual({ [PAGE_HEADER]: 'half' })
  })
})
