/** Opening projects: by mouse, by keyboard, in vain, twice. */
import { MOD_KEY } from './keys.ts'
import { events, expect, login, openProject, projects, test } from './provost.ts'
import { watch } from './watch.ts'

test('a folder opened on the first page is in the list, and its events are in the timeline', async ({ page, daemon }) => {
  const trouble = watch(page)
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
  await expect(page.getByText(/\d+ events, unchanged/)).toBeVisible()
  expect(await trouble()).toEqual([])
})

test('closing a project puts it among the closed ones, and it opens again from there', async ({ page, daemon }) => {
  const path = await daemon.folder('alpha')
  await login(page, daemon)
  await openProject(page, path)
  await projects(page).first().hover()
  await page.getByRole('button', { name: 'Close alpha' }).click()
  await expect(projects(page)).toHaveCount(0)
  await expect(events(page).filter({ hasText: 'PROJECT_CLOSED' })).toHaveCount(1)
  await page.getByText('Closed 1').click()
  await page.getByRole('list', { name: 'Closed projects' }).hover()
  await page.getByRole('button', { name: 'Open alpha again' }).click()
  await expect(projects(page)).toHaveCount(1)
})

test('a path that does not exist is answered with the sentence of the daemon', async ({ page, daemon }) => {
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
  // Until it is gone, keys are the palette's.
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

test('the palette says why a folder could not be opened, and stays', async ({ page, daemon }) => {
  await login(page, daemon)
  await page.keyboard.press(`${MOD_KEY}+k`)
  await page.keyboard.press('Enter')
  await page.keyboard.type('/no/such/folder')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog').getByRole('alert')).not.toBeEmpty()
})

test('filters, an event and a project are in the address and survive a reload', async ({ page, daemon }) => {
  const path = await daemon.folder('alpha')
  await daemon.ask('POST', '/api/projects', { path })
  await login(page, daemon, '#/timeline?kind=PROJECT_OPENED')
  await expect(events(page)).toHaveCount(1)
  await events(page).click()
  await expect(page).toHaveURL(/event=\d+/)
  await page.reload()
  await expect(page.getByRole('complementary')).toContainText(path)
  await expect(events(page)).toHaveCount(1)
  await page.goto(`${daemon.origin}/#/projects/nobody/timeline`)
  await expect(page.getByRole('heading', { name: /No project is called/ })).toBeVisible()
})
