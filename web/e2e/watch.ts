/** Notices everything a browser complains about. */
import type { Page } from '@playwright/test'

/** Begins to listen; the result tells what was heard: errors and breaches of the policy. */
export function watch(page: Page): () => Promise<readonly string[]> {
  const heard: string[] = []
  page.on('pageerror', (error) => heard.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') heard.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (protocol !== 'data:' && hostname !== '127.0.0.1') heard.push(`asked for ${request.url()}`)
  })
  // Breaches are also console errors; this one carries the directive.
  const recorded = page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy ${event.violatedDirective} forbids ${event.blockedURI}`)
    })
  })
  return async () => {
    await recorded
    await page.waitForLoadState()
    return heard
  }
}
