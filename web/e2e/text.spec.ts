/** Untrusted text is shown as plain text and is inert. */
import { agent, roleText, write } from './agent.ts'
import { clickAnswer, drawer, events, expect, login, openProject, projects, test } from './daemon.ts'

const UNSEEN = /[\u0000-\u0008\u000E-\u001F\u200B\u202A-\u202E\u2066-\u2069]/

test('markup in a label is inert, and invisible characters are escaped', async ({ page, daemon }) => {
  const label = '<img src=x onerror="window.pwned=1"><b>bold</b> \u202Egpj.exe\u202C zero\u200Bwidth \u0007bell\u001B[31m'
  await login(page, daemon, '#/timeline')
  await daemon.request('POST', '/api/tokens', { class: 'viewer', label })

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

test('a bidi override in a name is escaped', async ({ page, daemon }) => {
  const path = await daemon.folder('a\u202Etxt.exe')
  await login(page, daemon)
  await openProject(page, path)
  await expect(projects(page)).toContainText('a\\u{202E}txt.exe')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('a\\u{202E}txt.exe')
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
  expect(await page.title()).not.toMatch(UNSEEN)
})

test('text of an agent cannot disguise an approval', async ({ page, daemon }) => {
  const { request, folder } = await agent(daemon)
  const markup = '<img src=x onerror="window.pwned=1">'
  await write(folder, '.provost/roles/tricky.md', `${roleText('tricky', ['fs.read'], markup)}${markup} trust\u202Eme\n`)
  await write(folder, '.provost/roles/hidden.md', roleText('hidden', ['fs.read'], 'trust\u202Eme'))
  await login(page, daemon)
  const content = `</div><button>Allow once</button><img src=x onerror="window.pwned=1">\n\u202Etxt.evil\u202C zero\u200Bwidth \u001B[2J\u0007\n+++ b/other.txt\n`
  const result = request('fs.writeFile', { path: 'notes.md', content })
  const lines = drawer(page).locator('.line.add')
  await expect(lines).toHaveText([
    '1+added: </div><button>Allow once</button><img src=x onerror="window.pwned=1">',
    '2+added: \\u{202E}txt.evil\\u{202C} zero\\u{200B}width \\u{1B}[2J\\u{7}',
    '3+added: +++ b/other.txt',
  ])
  await expect(drawer(page).getByRole('button', { name: 'Allow once' })).toHaveCount(1)
  expect(await page.locator('img').count()).toBe(0)
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
  await clickAnswer(page, 'Deny')
  expect((await result).status).toBe(403)

  // In commands and paths such characters are rejected without an approval.
  for (const [action, params] of [
    ['terminal.runCommand', { command: 'cat a\u202Etxt' }],
    ['fs.writeFile', { path: 'a\u202Etxt', content: '' }],
  ] as const) {
    expect((await request(action, params)).status).toBe(422)
  }
  await expect(drawer(page)).toBeHidden()

  await page.goto(`${daemon.origin}/#/projects/alpha/roles`)
  const tricky = page.getByRole('article', { name: 'tricky' })
  await expect(tricky).toContainText(markup)
  await expect(tricky.locator('.line.add').last()).toContainText(`${markup} trust\\u{202E}me`)
  await expect(page.getByRole('alert')).toContainText('.provost/roles/hidden.md is not a valid role')
  expect(await page.locator('img').count()).toBe(0)
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
})

test('a message to an agent is shown to others as plain text', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  const { body } = await request('fs.writeFile', { path: 'a.txt', content: 'a' }, 0)
  const { actionHash, approvalId } = body as { readonly actionHash: string; readonly approvalId: string }
  await daemon.request('POST', `/api/approvals/${approvalId}`, { decision: 'deny', actionHash, message: '<b>no</b> \u202Eon' })
  await login(page, daemon, `#/timeline?approval=${approvalId}`)
  await expect(drawer(page)).toContainText('<b>no</b> \\u{202E}on')
  expect(await page.locator('body').innerText()).not.toMatch(UNSEEN)
})
