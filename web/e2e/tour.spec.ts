/** The tour: from the welcome page to a change in the preview, without an account. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { clickInlineAnswer, conversation, inlineApprovals, modelMessages, sendMessage, toolCalls } from './fake-provider.ts'
import { events, expect, login, test } from './daemon.ts'
import { previewFrame } from './test-project.ts'

test('the tour is offered until a session was opened, also with an own project', async ({ page, daemon }) => {
  await daemon.request('POST', '/api/projects', { path: await daemon.folder('app') })
  await login(page, daemon)
  await expect(page.getByRole('heading', { name: 'All events' })).toBeVisible()
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await expect(page).toHaveURL(/projects\/provost-tour\/chat\?session=/)
  await page.getByRole('link', { name: 'Provost', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'All events' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Take the tour' })).toBeHidden()
})

test('the tour reads, edits, runs and serves with approvals, and the preview shows the result', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  await login(page, daemon)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await expect(page).toHaveURL(/projects\/provost-tour\/chat\?session=/)
  // It is marked as a script in the header, in the list and in its text.
  await expect(page.getByText('scripted, no model', { exact: true })).toBeVisible()
  await expect(modelMessages(page).first()).toContainText('I am a script, not a model')

  const edit = toolCalls(page).filter({ hasText: 'Edit site/board.json' })
  await expect(edit.first()).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
  await expect(edit.first().locator('.line.add')).toContainText('Open until six')
  // Wait for the color transition of the buttons, because contrast is lower in between.
  await expect(inlineApprovals(page).getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  await page.evaluate(async () => {
    const colors = document.getAnimations().filter((animation) => animation instanceof CSSTransition)
    await Promise.allSettled(colors.map((color) => color.finished))
  })
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id)).toEqual([])
  await clickInlineAnswer(page, /^Allow once/)
  const check = toolCalls(page).filter({ hasText: 'sh check.sh' })
  await expect(check).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
  await clickInlineAnswer(page, /^Allow once/)
  const serve = toolCalls(page).filter({ hasText: 'Start the dev server' })
  await expect(serve).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
  await clickInlineAnswer(page, /^Allow once/)
  await expect(modelMessages(page).last()).toContainText('send me any message', { timeout: 30_000 })

  // The preview beside the chat shows the first change.
  await page.getByRole('button', { name: /^Side pane/ }).click()
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  await expect(previewFrame(page).locator('#open')).toHaveText('Open until six', { timeout: 30_000 })
  await expect(previewFrame(page).locator('#title')).toHaveText('Good morning')
  await sendMessage(page, 'Go on')
  await expect(edit.last()).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
  // The picture in the README.
  const picture = process.env['UI_PICTURE']
  await expect(inlineApprovals(page).getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  if (picture !== undefined) await page.screenshot({ path: picture, animations: 'disabled' })
  await clickInlineAnswer(page, /^Allow once/)
  await expect(previewFrame(page).locator('#title')).toHaveText('Hello from the tour')
  await expect(modelMessages(page).last()).toContainText('That is Provost.', { timeout: 30_000 })

  // The report and the timeline show the actions.
  await edit.last().getByRole('link', { name: 'Report' }).click()
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('allowed it: once')
  await page.goto(`${daemon.origin}/#/projects/provost-tour/timeline`)
  await expect(events(page).filter({ hasText: 'PREVIEW_READY' })).not.toHaveCount(0)
})

test('the tour continues after denials, and nothing is changed', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  await login(page, daemon)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  for (const what of ['Edit site/board.json', 'sh check.sh', 'Start the dev server']) {
    const call = toolCalls(page).filter({ hasText: what })
    await expect(call).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
    await clickInlineAnswer(page, /^Deny( D)?$/)
    await expect(call).toHaveAttribute('data-call', 'denied')
  }
  await expect(modelMessages(page).last()).toContainText('Send me any message', { timeout: 30_000 })
  await sendMessage(page, 'Go on')
  await expect(toolCalls(page).last()).toHaveAttribute('data-call', 'pending', { timeout: 30_000 })
  await clickInlineAnswer(page, /^Deny( D)?$/)
  await expect(modelMessages(page).last()).toContainText('That is the point', { timeout: 30_000 })
  await expect(conversation(page).locator('[data-turn-end]')).toHaveCount(0)
  const [project] = ((await daemon.request('GET', '/api/projects')) as { projects: readonly { path: string }[] }).projects
  expect(await readFile(join(project?.path ?? '', 'site/board.json'), 'utf8')).toContain('Closed until further notice')
})
