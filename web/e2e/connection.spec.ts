/** The page shows the true state of the connection. */
import { connectionChip, events, expect, expectLive, login, openProject, projects, seqs, test } from './daemon.ts'

test('a killed daemon is detected, and the page reconnects', async ({ page, daemon }) => {
  await login(page, daemon)
  await openProject(page, await daemon.folder('alpha'))
  await expect(projects(page)).toHaveCount(1)
  await page.getByRole('link', { name: 'All events', exact: true }).click()
  await expect(events(page).filter({ hasText: 'DAEMON_STARTED' })).toHaveCount(1)

  await daemon.kill()
  await expect(connectionChip(page)).toHaveAttribute('data-connection', /lost|connecting/, { timeout: 5_000 })
  const banner = page.getByRole('region', { name: 'Connection lost' })
  await expect(banner).toContainText('Disconnected from the daemon')
  await expect(connectionChip(page)).toContainText(/Disconnected|Reconnecting/)
  await expect(page.getByRole('button', { name: 'Verify' })).toHaveAttribute('aria-disabled', 'true')
  await expect(page.getByRole('button', { name: 'Verify' })).toHaveAttribute('title', 'The daemon is not connected')
  await expect(projects(page)).toHaveCount(1)

  await daemon.restart()
  await expectLive(page)
  await expect(banner).toBeHidden()
  await expect(projects(page)).toHaveCount(1)
  await expect(events(page).filter({ hasText: 'DAEMON_STARTED' })).toHaveCount(2)
  const places = await seqs(page)
  expect(places).toEqual(places.map((_, index) => index + 1))
  await expect(events(page)).toHaveCount(places.length)
})

test('a suspended daemon is not shown as live', async ({ page, daemon }) => {
  await login(page, daemon)
  daemon.pause()
  await expect(connectionChip(page)).toHaveAttribute('data-connection', /lost|connecting/, { timeout: 15_000 })
  daemon.resume()
  await expectLive(page)
})

test('"Retry now" does not wait', async ({ page, daemon }) => {
  await login(page, daemon)
  await daemon.kill()
  const retry = page.getByRole('button', { name: 'Retry now' })
  await expect(retry).toBeVisible()
  // Let the backoff grow, so that an automatic retry would take longer.
  await expect(page.getByText(/Retrying in [4-9] s/)).toBeVisible({ timeout: 30_000 })
  await daemon.restart()
  await retry.click()
  await expect(connectionChip(page)).toHaveAttribute('data-connection', 'live', { timeout: 1_500 })
})

test('a browser without a login shows how to log in', async ({ page, daemon }) => {
  await page.goto(daemon.origin)
  await expect(page.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
  await expect(page.getByText('provost up', { exact: true })).toBeVisible()
  await expect(projects(page)).toHaveCount(0)
})

test('a login that is revoked ends without a reload', async ({ page, daemon }) => {
  await login(page, daemon)
  await openProject(page, await daemon.folder('alpha'))
  await expect(projects(page)).toHaveCount(1)
  const { tokens } = (await daemon.request('GET', '/api/tokens')) as { readonly tokens: readonly { readonly id: string }[] }
  expect(tokens).toHaveLength(1)
  for (const { id } of tokens) await daemon.request('DELETE', `/api/tokens/${id}`)
  await expect(page.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
})

test('a login in another tab restores the page', async ({ page, context, daemon }) => {
  await page.goto(daemon.origin)
  await expect(page.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
  const other = await context.newPage()
  await login(other, daemon)
  await page.getByRole('button', { name: 'Check again' }).click()
  await expectLive(page)
})

test('what is opened in one browser appears in the other, and a reload shows the same', async ({ browser, daemon }) => {
  const [one, two] = await Promise.all([browser.newPage(), browser.newPage()])
  await login(one, daemon)
  await login(two, daemon)
  await openProject(one, await daemon.folder('alpha'))
  await expect(projects(two)).toHaveCount(1)
  await expect(projects(two)).toContainText('alpha')

  await two.getByRole('link', { name: 'All events', exact: true }).click()
  await expect(events(two).filter({ hasText: 'PROJECT_OPENED' })).toHaveCount(1)
  const before = await seqs(two)
  await two.reload()
  await expectLive(two)
  await expect(projects(two)).toHaveCount(1)
  await expect.poll(() => seqs(two)).toEqual(before)
  await one.context().close()
  await two.context().close()
})
