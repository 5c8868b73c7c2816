/** Approvals: shown, allowed, denied, answered elsewhere, and still pending after a crash. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agent, write } from './agent.ts'
import { clickAnswer, connectionChip, drawer, expect, expectLive, login, test } from './daemon.ts'
import { collectErrors } from './collect-errors.ts'

test('an approval is shown and allowed', async ({ page, daemon }) => {
  const errors = collectErrors(page)
  const { request, folder } = await agent(daemon)
  await write(folder, 'notes.md', 'one\ntwo\n')
  await login(page, daemon)
  await expect(drawer(page)).toBeHidden()

  const result = request('fs.writeFile', { path: 'notes.md', content: 'one\nzwei\n' })
  await expect(drawer(page)).toBeVisible()
  await expect(page).toHaveTitle(/^\(1\) /)
  await expect(page.getByRole('button', { name: '1 pending approval' })).toBeVisible()
  const card = drawer(page)
  await expect(card.getByRole('heading', { level: 3 })).toContainText('notes.md')
  await expect(card).toContainText('role backend')
  await expect(card).toContainText('project alpha')
  await expect(card).toContainText('fs.writeFile')
  await expect(card).toContainText(/denied automatically in \d+:\d\d/)
  await expect(card.locator('.line.del')).toContainText('two')
  await expect(card.locator('.line.add')).toContainText('zwei')
  await expect(card.getByText('no network')).toBeVisible()
  await expect(card.getByRole('group', { name: 'Your answer' })).toContainText('nothing is remembered')

  await clickAnswer(page, 'Allow once')
  expect((await result).status).toBe(200)
  await expect(drawer(page)).toBeHidden()
  await expect(page).not.toHaveTitle(/^\(/)
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('one\nzwei\n')
  expect(await errors()).toEqual([])
})

test('a command is shown argument by argument, and a denial reaches the agent with its reason', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  await login(page, daemon)
  const result = request('terminal.runCommand', { command: 'env CI=1 rm -rf "my files" \'\'' })
  const words = drawer(page).getByRole('list', { name: 'Program and arguments' }).getByRole('listitem')
  await expect(words).toHaveText(['rm', '-rf', 'my files', 'empty argument'])
  await expect(drawer(page)).toContainText('through')

  await clickAnswer(page, /^Deny with a message/)
  const message = drawer(page).getByLabel('Reason for the denial')
  await expect(message).toBeFocused()
  await message.fill('Move them to the attic instead.')
  await page.keyboard.press('Control+Enter')
  const { status, body } = await result
  expect(status).toBe(403)
  expect(body['code']).toBe('APPROVAL_DENIED')
  expect(body['error']).toContain('Move them to the attic instead.')
  await expect(drawer(page)).toBeHidden()
})

test('a hard gate is a warning and can be allowed only once', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  await login(page, daemon)
  // Protected paths are denied without an approval.
  expect((await request('fs.writeFile', { path: '.git/hooks/pre-commit', content: '#!/bin/sh\n' })).body['code']).toBe('PROTECTED_PATH')
  await expect(drawer(page)).toBeHidden()
  const result = request('terminal.runCommand', { command: 'sudo make install' })
  await expect(drawer(page).getByText('Dangerous: always requires approval')).toBeVisible()
  await expect(drawer(page).getByRole('button', { name: /^Allow/ })).toHaveCount(1)
  await clickAnswer(page, 'Deny')
  expect((await result).body['code']).toBe('APPROVAL_DENIED')
})

test('keyboard only: move, allow for the session, deny; Enter and early keys do nothing', async ({ page, daemon }) => {
  const { request, folder } = await agent(daemon)
  await login(page, daemon)
  // Keys and clicks at the moment the approval appears, before anyone could have read it.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      const buttons = document.querySelectorAll<HTMLElement>('[aria-label="Your answer"] button')
      if (buttons.length === 0) return
      observer.disconnect()
      for (const key of ['a', 's', 'd', 'Enter']) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      for (const button of buttons) button.click()
      document.body.dataset['pressed'] = String(buttons.length)
    }).observe(document.body, { childList: true, subtree: true })
  })
  const first = request('fs.writeFile', { path: 'first.txt', content: '1' })
  await expect(page.locator('body')).toHaveAttribute('data-pressed', '6')
  const second = request('fs.writeFile', { path: 'second.txt', content: '2' })
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 pending approvals')
  const heading = drawer(page).getByRole('heading', { level: 3 })
  const allow = drawer(page).getByRole('button', { name: /^Allow once/ })
  await expect(heading).toContainText('first.txt')

  await page.keyboard.press('j')
  await expect(heading).toContainText('second.txt')
  await page.keyboard.press('k')
  await expect(heading).toContainText('first.txt')
  await expect(allow).toHaveAttribute('aria-disabled', 'false')
  await allow.focus()
  await page.keyboard.press('Enter')
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 pending approvals')
  await page.keyboard.press('s')
  expect((await first).status).toBe(200)

  await expect(heading).toContainText('second.txt')
  await expect(allow).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('d')
  expect((await second).status).toBe(403)
  await expect(drawer(page)).toBeHidden()

  // What was granted for the session needs no further approval.
  expect((await request('fs.writeFile', { path: 'first.txt', content: '3' })).status).toBe(200)
  expect(await readFile(join(folder, 'first.txt'), 'utf8')).toBe('3')
  await page.keyboard.press('i')
  await expect(drawer(page).getByText('Nothing to approve')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(drawer(page)).toBeHidden()
})

test('an answer on a phone shows at once in another browser', async ({ browser, daemon }) => {
  const { request } = await agent(daemon)
  const phone = { width: 390, height: 780 }
  const [one, two] = await Promise.all([browser.newPage({ viewport: phone, hasTouch: true }), browser.newPage()])
  await login(one, daemon)
  await login(two, daemon)
  const result = request('fs.writeFile', { path: 'a.txt', content: 'a' })
  await expect(drawer(one)).toBeVisible()
  await expect(drawer(two).getByRole('heading', { level: 3 })).toContainText('a.txt')
  await clickAnswer(one, 'Allow once')
  expect((await result).status).toBe(200)
  await expect(drawer(two)).toContainText('Allowed once elsewhere, by')
  await expect(drawer(two).getByRole('button', { name: /^Allow/ })).toHaveCount(0)
  await expect(drawer(two).getByRole('heading', { level: 2 })).toHaveText('No pending approvals')
  await expect(drawer(one)).toBeHidden()
  await one.context().close()
  await two.context().close()
})

test('an approval survives a killed daemon and a reload, and can be answered afterwards', async ({ page, daemon }) => {
  const { request, folder } = await agent(daemon)
  await login(page, daemon)
  const lost = request('fs.writeFile', { path: 'late.txt', content: 'late' }).catch(() => null)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await daemon.kill()
  expect(await lost).toBeNull()
  await expect(connectionChip(page)).toHaveAttribute('data-connection', /lost|connecting/)
  await expect(drawer(page).getByRole('button', { name: /^Allow once/ })).toHaveAttribute('title', 'The daemon is not connected')

  await daemon.restart()
  await expectLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await page.reload()
  await expectLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await clickAnswer(page, 'Allow once')
  await expect(drawer(page)).toBeHidden()
  await expect.poll(() => readFile(join(folder, 'late.txt'), 'utf8').catch(() => '')).toBe('late')
})

test('an approval with a large body is shown in full, and survives a reload', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  const content = Array.from({ length: 700 }, (_, index) => `line number ${String(index + 1)}\n`).join('')
  await login(page, daemon)
  const result = request('fs.writeFile', { path: 'big.txt', content })
  for (const _ of [1, 2]) {
    await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('big.txt')
    await expect(drawer(page).locator('.line.add').first()).toContainText('line number 1')
    await expect(drawer(page)).toContainText('more lines are not shown yet')
    await drawer(page).getByRole('button', { name: 'Show more' }).click()
    await expect(drawer(page).locator('.line.add')).toHaveCount(700)
    await page.reload()
    await expectLive(page)
  }
  await clickAnswer(page, 'Deny')
  expect((await result).status).toBe(403)
  await expect(drawer(page)).toBeHidden()
})

test('"always" shows its rule, which can be edited before it is added', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  await login(page, daemon)
  const result = request('fs.writeFile', { path: 'log.txt', content: '1' })
  await clickAnswer(page, /^Allow always/)
  const rule = drawer(page).getByRole('textbox')
  await expect(rule).toHaveValue(/effect *= *"allow"/)
  await rule.fill('this is no rule')
  await clickAnswer(page, 'Add the rule and allow')
  await expect(drawer(page).getByRole('alert')).toBeVisible()
  // The entered rule is kept.
  await expect(rule).toHaveValue('this is no rule')
  await clickAnswer(page, 'Reset')
  await clickAnswer(page, 'Add the rule and allow')
  expect((await result).status).toBe(200)
  expect((await request('fs.writeFile', { path: 'log.txt', content: '2' })).status).toBe(200)
  await page.goto(`${daemon.origin}/#/projects/alpha/policy`)
  await expect(page.getByRole('list', { name: 'Rules: User' })).toContainText('log.txt')
})

test('a link opens an approval', async ({ page, daemon }) => {
  const { request } = await agent(daemon)
  await login(page, daemon)
  const { body } = await request('fs.writeFile', { path: 'a.txt', content: 'a' }, 0)
  const second = request('fs.writeFile', { path: 'b.txt', content: 'b' })
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 pending approvals')
  await page.goto(`${daemon.origin}/#/timeline?approval=${String(body['approvalId'])}`)
  await expectLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('a.txt')
  // The drawer keeps its approval on other pages.
  await page.getByRole('link', { name: /^alpha/ }).click()
  await page.getByRole('link', { name: 'Run', exact: true }).click()
  await expect(page.getByText('No output yet')).toBeVisible()
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('a.txt')
  await drawer(page).getByRole('link', { name: 'Action report' }).click()
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('Waiting for approval')
  await clickAnswer(page, 'Deny')
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('denied it')
  await clickAnswer(page, 'Deny')
  expect((await second).status).toBe(403)
})
