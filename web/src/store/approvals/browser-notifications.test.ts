/** Browser notifications: only when permitted, only out of sight; the permission is requested only on demand. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { BrowserNotifications } from './browser-notifications.svelte.ts'

function browser(permission: NotificationPermission, seen: 'visible' | 'hidden'): { readonly shown: string[]; readonly asked: () => number } {
  const shown: string[] = []
  const ask = vi.fn(() => Promise.resolve('granted' as const))
  class Fake {
    static readonly permission = permission
    static readonly requestPermission = ask
    onclick: (() => void) | null = null
    constructor(title: string, options: NotificationOptions) {
      shown.push(`${title} ${options.body ?? ''}`)
    }
  }
  vi.stubGlobal('Notification', Fake)
  vi.stubGlobal('document', { visibilityState: seen, hasFocus: () => seen === 'visible' })
  return { shown, asked: () => ask.mock.calls.length }
}

describe('a notification', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it.each([
    ['granted', 'hidden', 1],
    ['granted', 'visible', 0],
    ['default', 'hidden', 0],
    ['denied', 'hidden', 0],
  ] as const)('with permission %s and a %s page is shown %d times', (permission, seen, times) => {
    const { shown, asked } = browser(permission, seen)
    new BrowserNotifications().notify('tag', 'Pending', 'Open it.', () => undefined)
    expect(shown).toHaveLength(times)
    expect(asked()).toBe(0)
  })

  it('is permitted only after a request', async () => {
    const { shown, asked } = browser('default', 'hidden')
    const notifications = new BrowserNotifications()
    expect(notifications.permission).toBe('default')
    await notifications.requestPermission()
    expect([notifications.permission, asked()]).toEqual(['granted', 1])
    notifications.notify('tag', 'Pending', 'Open it.', () => undefined)
    expect(shown).toEqual(['Pending Open it.'])
  })

  it('is unsupported in some browsers', () => {
    vi.stubGlobal('Notification', undefined)
    expect(new BrowserNotifications().permission).toBe('unsupported')
  })
})
