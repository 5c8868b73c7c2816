/** Collects browser errors. */
import type { Page } from '@playwright/test'

/** Starts to collect errors and policy violations; the returned function gives them. */
export function collectErrors(page: Page): () => Promise<readonly string[]> {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (protocol !== 'data:' && hostname !== '127.0.0.1') errors.push(`requested ${request.url()}`)
  })
  // Violations are also console errors; this one includes the directive.
  const recorded = page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy ${event.violatedDirective} forbids ${event.blockedURI}`)
    })
  })
  return async () => {
    await recorded
    await page.waitForLoadState()
    return errors
  }
}
