/** Calls through the browser: only when permitted, only out of sight, and never asked for by themselves. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Alerts } from './browser-notifications.svelte.ts'

function browser(permission: NotificationPermission, seen: 'visible' | 'hidden'): { readonly said: string[]; readonly asked: () => number } {
  const said: string[] = []
  const ask = vi.fn(() => Promise.resolve('granted' as const))
  class Fake {
    static readonly permission = permission
    static readonly requestPermission = ask
    onclick: (() => void) | null = null
    constructor(title: string, options: NotificationOptions) {
      said.push(`${title} ${options.body ?? ''}`)
    }
  }
  vi.stubGlobal('Notification', Fake)
  vi.stubGlobal('document', { visibilityState: seen, hasFocus: () => seen === 'visible' })
  return { said, asked: () => ask.mock.calls.length }
}

describe('a call', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it.each([
    ['granted', 'hidden', 1],
    ['granted', 'visible', 0],
    ['default', 'hidden', 0],
    ['denied', 'hidden', 0],
  ] as const)('with permission %s and a page that is %s is made %d times', (permission, seen, times) => {
    const { said, asked } = browser(permission, seen)
    new Alerts().say('tag', 'Someone waits', 'Open it.', () => undefined)
    expect(said).toHaveLength(times)
    expect(asked()).toBe(0)
  })

  it('is permitted when a person says so, and only then', async () => {
    const { said, asked } = browser('default', 'hidden')
    const alerts = new Alerts()
    expect(alerts.permission).toBe('default')
    await alerts.allow()
    expect([alerts.permission, asked()]).toEqual(['granted', 1])
    alerts.say('tag', 'Someone waits', 'Open it.', () => undefined)
    expect(said).toEqual(['Someone waits Open it.'])
  })

  it('is impossible in a browser that has none', () => {
    vi.stubGlobal('Notification', undefined)
    expect(new Alerts().permission).toBe('unsupported')
  })
})
