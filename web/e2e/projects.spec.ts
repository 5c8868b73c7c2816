/** Opening projects: by mouse, by keyboard, with errors, twice. */
import { MOD_KEY } from './keys.ts'
import { events, expect, login, openProject, projects, test } from './daemon.ts'
import { collectErrors } from './collect-errors.ts'

test('a folder opened on the first page is in the list, and its events are in the timeline', async ({ page, daemon }) => {
  const errors = collectErrors(page)
  const path = await daemon.folder('alpha')
  await login(page, daemon)
  await expect(page.getByRole('heading', { name: 'Open your first project' })).toBeVisible()
  await expect(page.getByText('provost up PATH')).toBeVisible()

  await page.getByLabel(/Path of the folder, absolute/).fill(path)
  await page.keyboard.press('Enter')

  await expect(projects(page)).toHaveCount(1)
  await expect(projects(page)).toContainText('alpha')
  await expect(page).toHaveURL(/#\/projects\/alpha\/timeline$/)
  await expect(page.getByRole('heading', { level: 1, name: 'alpha' })).toBeVisible()
  const opened = events(page).filter({ hasText: 'PROJECT_OPENED' })
  await expect(opened).toHaveCount(1)
  await expect(opened).toContainText(path)
  await expect(events(page).filter({ hasText: 'DAEMON_STARTED' })).toHaveCount(0)

  await opened.click()
  const detail = page.getByRole('complementary', { name: /^Event \d+$/ })
  await expect(detail).toContainText(path)
  await expect(detail).toContainText('principal')
  await page.keyboard.press('Escape')
  await expect(detail).toBeHidden()

  await page.getByRole('link', { name: 'All events', exact: true }).click()
  await expect(events(page).filter({ hasText: 'DAEMON_STARTED' })).toHaveCount(1)
  await page.getByRole('button', { name: 'Verify' }).click()
  await expect(page.getByText(/\d+ events verified/)).toBeVisible()
  expect(await errors()).toEqual([])
})

test('a closed project is listed as closed and can be reopened', async ({ page, daemon }) => {
  const path = await daemon.folder('alpha')
  await login(page, daemon)
  await openProject(page, path)
  await projects(page).first().hover()
  await page.getByRole('button', { name: 'Close alpha' }).click()
  await expect(projects(page)).toHaveCount(0)
  await expect(events(page).filter({ hasText: 'PROJECT_CLOSED' })).toHaveCount(1)
  await page.getByText('Closed 1').click()
  await page.getByRole('list', { name: 'Closed projects' }).hover()
  await page.getByRole('button', { name: 'Reopen alpha' }).click()
  await expect(projects(page)).toHaveCount(1)
})

test('a path that does not exist shows the error message of the daemon', async ({ page, daemon }) => {
  const path = `${await daemon.folder('alpha')}/is/not/there`
  await login(page, daemon)
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  await openProject(page, path)
  const { error } = (await (await answered).json()) as { readonly error: string }
  expect(error).not.toBe('')
  await expect(page.getByRole('alert')).toHaveText(error)
  await expect(projects(page)).toHaveCount(0)
})

test('a project that is already open is selected and not listed twice', async ({ page, daemon }) => {
  const [alpha, beta] = [await daemon.folder('alpha'), await daemon.folder('beta')]
  await login(page, daemon)
  await openProject(page, alpha)
  await expect(page).toHaveURL(/alpha/)
  await openProject(page, beta)
  await expect(page).toHaveURL(/beta/)
  await openProject(page, alpha)
  await expect(page).toHaveURL(/#\/projects\/alpha\/timeline$/)
  await expect(page.getByText('alpha is already open.')).toBeVisible()
  await expect(projects(page)).toHaveCount(2)
  await expect(page.getByRole('link', { name: /^alpha/ })).toHaveAttribute('aria-current', 'page')
})

test('everything can be done with the keyboard alone', async ({ page, daemon }) => {
  const path = await daemon.folder('alpha')
  await login(page, daemon, '#/timeline')
  await page.keyboard.press(`${MOD_KEY}+k`)
  await page.keyboard.type('open')
  await page.keyboard.press('Enter')
  await page.keyboard.type(path)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(page.getByRole('heading', { level: 1, name: 'alpha' })).toBeVisible()

  await page.keyboard.press(`${MOD_KEY}+k`)
  await page.keyboard.type('all events')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'All events', exact: true })).toBeVisible()
  // Until it is closed, the palette gets the keys.
  await expect(page.getByRole('dialog')).toBeHidden()

  await page.keyboard.press('/')
  await expect(page.getByRole('searchbox', { name: 'Filter by text' })).toBeFocused()
  await page.keyboard.type('project_opened')
  await expect(events(page)).toHaveCount(1)
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press('Tab')
    if (await page.getByRole('listbox', { name: 'Events' }).evaluate((box) => box === document.activeElement)) break
  }
  await page.keyboard.press('ArrowDown')
  await expect(page.getByRole('complementary')).toContainText(path)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('complementary')).toBeHidden()
})

test('the palette shows why a folder could not be opened, and stays open', async ({ page, daemon }) => {
  await login(page, daemon)
  await page.keyboard.press(`${MOD_KEY}+k`)
  await page.keyboard.press('Enter')
  await page.keyboard.type('/no/such/folder')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog').getByRole('alert')).not.toBeEmpty()
})

test('filters, an event and a project are in the address and survive a reload', async ({ page, daemon }) => {
  const path = await daemon.folder('alpha')
  await daemon.request('POST', '/api/projects', { path })
  await login(page, daemon, '#/timeline?kind=PROJECT_OPENED')
  await expect(events(page)).toHaveCount(1)
  await events(page).click()
  await expect(page).toHaveURL(/event=\d+/)
  await page.reload()
  await expect(page.getByRole('complementary')).toContainText(path)
  await expect(events(page)).toHaveCount(1)
  await page.goto(`${daemon.origin}/#/projects/nobody/timeline`)
  await expect(page.getByRole('heading', { name: /^Project .* not found/ })).toBeVisible()
})
