/** Text that someone else wrote is shown as it is, and does nothing. */
import { events, expect, login, openProject, projects, test } from './provost.ts'

const UNSEEN = /[\u0000-\u0008\u000E-\u001F\u200B\u202A-\u202E\u2066-\u2069]/

test('markup in a label is inert, and characters that cannot be seen are shown', async ({ page, daemon }) => {
  const label = '<img src=x onerror="window.pwned=1"><b>bold</b> \u202Egpj.exe\u202C zero\u200Bwidth \u0007bell\u001B[31m'
  await login(page, daemon, '#/timeline')
  await daemon.ask('POST', '/api/tokens', { class: 'viewer', label })

  const row = events(page).filter({ hasText: 'TOKEN_CREATED' }).filter({ hasText: '<img' })
  await expect(row).toHaveCount(1)
  await expect(row).toContainText('<b>bold</b> \\u{202E}gpj.exe\\u{202C} zero\\u{200B}width \\u{7}bell\\u{1B}[31m')
  await row.click()
  const detail = page.getByRole('complementary')
  await expect(detail).toContainText('<img src=x onerror="window.pwned=1"><b>bold</b> \\u{202E}gpj.exe\\u{202C}')

  expect(await page.locator('img').count()).toBe(0)
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
})

test('a name that would read backwards is shown as it is', async ({ page, daemon }) => {
  const path = await daemon.folder('a\u202Etxt.exe')
  await login(page, daemon)
  await openProject(page, path)
  await expect(projects(page)).toContainText('a\\u{202E}txt.exe')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('a\\u{202E}txt.exe')
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
  expect(await page.title()).not.toMatch(UNSEEN)
})
