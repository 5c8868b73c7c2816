/** The tour, as a newcomer takes it: from the empty page to a change in the preview, without an account. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { answers, calls, conversation, pressHere, requests, say } from './model.ts'
import { events, expect, login, test } from './provost.ts'
import { inside } from './work.ts'

test('whoever comes with a project of their own is offered the tour, until a session was opened', async ({ page, daemon }) => {
  await daemon.ask('POST', '/api/projects', { path: await daemon.folder('app') })
  await login(page, daemon)
  await expect(page.getByRole('heading', { name: 'All events' })).toBeVisible()
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await expect(page).toHaveURL(/projects\/provost-tour\/chat\?session=/)
  await page.getByRole('link', { name: 'Provost', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'All events' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Take the tour' })).toBeHidden()
})

test('the tour reads, changes, runs and serves, each under approval, and the preview shows it', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  await login(page, daemon)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await expect(page).toHaveURL(/projects\/provost-tour\/chat\?session=/)
  // It says what it is, at the top, in the list and in its own words.
  await expect(page.getByText('scripted, no model', { exact: true })).toBeVisible()
  await expect(answers(page).first()).toContainText('I am a script, not a model')

  const edit = calls(page).filter({ hasText: 'Edit site/board.json' })
  await expect(edit.first()).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
  await expect(edit.first().locator('.line.add')).toContainText('Open until six')
  // What is allowed takes color when it can be pressed; in between it is neither.
  await expect(requests(page).getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  await page.evaluate(async () => {
    const colors = document.getAnimations().filter((animation) => animation instanceof CSSTransition)
    await Promise.allSettled(colors.map((color) => color.finished))
  })
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id)).toEqual([])
  await pressHere(page, /^Allow once/)
  const check = calls(page).filter({ hasText: 'sh check.sh' })
  await expect(check).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
  await pressHere(page, /^Allow once/)
  const serve = calls(page).filter({ hasText: 'Start the dev server' })
  await expect(serve).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
  await pressHere(page, /^Allow once/)
  await expect(answers(page).last()).toContainText('send me any message', { timeout: 30_000 })

  // Beside the chat is the board, with the first change on it.
  await page.getByRole('button', { name: /^Beside it/ }).click()
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  await expect(inside(page).locator('#open')).toHaveText('Open until six', { timeout: 30_000 })
  await expect(inside(page).locator('#title')).toHaveText('Good morning')
  await say(page, 'Go on')
  await expect(edit.last()).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
  await pressHere(page, /^Allow once/)
  await expect(inside(page).locator('#title')).toHaveText('Hello from the tour')
  await expect(answers(page).last()).toContainText('That is Provost.', { timeout: 30_000 })

  // And the timeline explains it.
  await edit.last().getByRole('link', { name: 'Story' }).click()
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('allowed it: once')
  await page.goto(`${daemon.origin}/#/projects/provost-tour/timeline`)
  await expect(events(page).filter({ hasText: 'PREVIEW_READY' })).not.toHaveCount(0)
})

test('a person who denies everything is led on, and nothing is changed', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  await login(page, daemon)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  for (const what of ['Edit site/board.json', 'sh check.sh', 'Start the dev server']) {
    const call = calls(page).filter({ hasText: what })
    await expect(call).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
    await pressHere(page, /^Deny( D)?$/)
    await expect(call).toHaveAttribute('data-call', 'denied')
  }
  await expect(answers(page).last()).toContainText('Send me any message', { timeout: 30_000 })
  await say(page, 'Go on')
  await expect(calls(page).last()).toHaveAttribute('data-call', 'waits', { timeout: 30_000 })
  await pressHere(page, /^Deny( D)?$/)
  await expect(answers(page).last()).toContainText('That is the point', { timeout: 30_000 })
  await expect(conversation(page).locator('[data-ending]')).toHaveCount(0)
  const [project] = ((await daemon.ask('GET', '/api/projects')) as { projects: readonly { path: string }[] }).projects
  expect(await readFile(join(project?.path ?? '', 'site/board.json'), 'utf8')).toContain('Closed until further notice')
})
