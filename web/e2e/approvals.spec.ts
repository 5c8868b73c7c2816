/** Requests of an agent: seen, understood, allowed, denied, answered elsewhere, and still there after a crash. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agent, write } from './agent.ts'
import { chip, drawer, expect, isLive, login, press, test } from './provost.ts'
import { watch } from './watch.ts'

test('a request is seen, understood and allowed', async ({ page, daemon }) => {
  const trouble = watch(page)
  const { ask, folder } = await agent(daemon)
  await write(folder, 'notes.md', 'one\ntwo\n')
  await login(page, daemon)
  await expect(drawer(page)).toBeHidden()

  const came = ask('fs.writeFile', { path: 'notes.md', content: 'one\nzwei\n' })
  await expect(drawer(page)).toBeVisible()
  await expect(page).toHaveTitle(/^\(1\) /)
  await expect(page.getByRole('button', { name: '1 request waits for you' })).toBeVisible()
  const card = drawer(page)
  await expect(card.getByRole('heading', { level: 3 })).toContainText('notes.md')
  await expect(card).toContainText('role backend')
  await expect(card).toContainText('project alpha')
  await expect(card).toContainText('fs.writeFile')
  await expect(card).toContainText(/denied by itself in \d+:\d\d/)
  await expect(card.locator('.line.del')).toContainText('two')
  await expect(card.locator('.line.add')).toContainText('zwei')
  await expect(card.getByText('no network')).toBeVisible()
  await expect(card.getByRole('group', { name: 'Your answer' })).toContainText('nothing is remembered')

  await press(page, 'Allow once')
  expect((await came).status).toBe(200)
  await expect(drawer(page)).toBeHidden()
  await expect(page).not.toHaveTitle(/^\(/)
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('one\nzwei\n')
  expect(await trouble()).toEqual([])
})

test('a command is shown word by word, and a denial reaches the script with its message', async ({ page, daemon }) => {
  const { ask } = await agent(daemon)
  await login(page, daemon)
  const came = ask('terminal.runCommand', { command: 'env CI=1 rm -rf "my files" \'\'' })
  const words = drawer(page).getByRole('list', { name: 'Program and arguments' }).getByRole('listitem')
  await expect(words).toHaveText(['rm', '-rf', 'my files', 'empty word'])
  await expect(drawer(page)).toContainText('through')

  await press(page, /^Deny with a message/)
  const message = drawer(page).getByLabel('What the asker is told')
  await expect(message).toBeFocused()
  await message.fill('Move them to the attic instead.')
  await page.keyboard.press('Control+Enter')
  const { status, body } = await came
  expect(status).toBe(403)
  expect(body['code']).toBe('APPROVAL_DENIED')
  expect(body['error']).toContain('Move them to the attic instead.')
  await expect(drawer(page)).toBeHidden()
})

test('a hard gate is a warning and can be allowed only once', async ({ page, daemon }) => {
  const { ask } = await agent(daemon)
  await login(page, daemon)
  // What governs is out of reach: nobody is even asked.
  expect((await ask('fs.writeFile', { path: '.git/hooks/pre-commit', content: '#!/bin/sh\n' })).body['code']).toBe('PROTECTED_PATH')
  await expect(drawer(page)).toBeHidden()
  const came = ask('terminal.runCommand', { command: 'sudo make install' })
  await expect(drawer(page).getByText('Dangerous: this is asked every time')).toBeVisible()
  await expect(drawer(page).getByRole('button', { name: /^Allow/ })).toHaveCount(1)
  await press(page, 'Deny')
  expect((await came).body['code']).toBe('APPROVAL_DENIED')
})

test('keyboard only: move, allow for the session, deny; Enter and early keys do nothing', async ({ page, daemon }) => {
  const { ask, folder } = await agent(daemon)
  await login(page, daemon)
  // In the very moment it comes up, before anybody could have read it: keys and presses meant for something else.
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
  const first = ask('fs.writeFile', { path: 'first.txt', content: '1' })
  await expect(page.locator('body')).toHaveAttribute('data-pressed', '6')
  const second = ask('fs.writeFile', { path: 'second.txt', content: '2' })
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 requests wait')
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
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 requests wait')
  await page.keyboard.press('s')
  expect((await first).status).toBe(200)

  await expect(heading).toContainText('second.txt')
  await expect(allow).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('d')
  expect((await second).status).toBe(403)
  await expect(drawer(page)).toBeHidden()

  // What was granted for the session does not ask again.
  expect((await ask('fs.writeFile', { path: 'first.txt', content: '3' })).status).toBe(200)
  expect(await readFile(join(folder, 'first.txt'), 'utf8')).toBe('3')
  await page.keyboard.press('i')
  await expect(drawer(page).getByText('Nothing waits for you')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(drawer(page)).toBeHidden()
})

test('an answer on a phone shows at once in another browser', async ({ browser, daemon }) => {
  const { ask } = await agent(daemon)
  const phone = { width: 390, height: 780 }
  const [one, two] = await Promise.all([browser.newPage({ viewport: phone, hasTouch: true }), browser.newPage()])
  await login(one, daemon)
  await login(two, daemon)
  const came = ask('fs.writeFile', { path: 'a.txt', content: 'a' })
  await expect(drawer(one)).toBeVisible()
  await expect(drawer(two).getByRole('heading', { level: 3 })).toContainText('a.txt')
  await press(one, 'Allow once')
  expect((await came).status).toBe(200)
  await expect(drawer(two)).toContainText('Allowed once elsewhere, by')
  await expect(drawer(two).getByRole('button', { name: /^Allow/ })).toHaveCount(0)
  await expect(drawer(two).getByRole('heading', { level: 2 })).toHaveText('No request waits')
  await expect(drawer(one)).toBeHidden()
  await one.context().close()
  await two.context().close()
})

test('a request outlives a daemon that is killed, and a reload, and can be answered then', async ({ page, daemon }) => {
  const { ask, folder } = await agent(daemon)
  await login(page, daemon)
  const lost = ask('fs.writeFile', { path: 'late.txt', content: 'late' }).catch(() => null)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await daemon.kill()
  expect(await lost).toBeNull()
  await expect(chip(page)).toHaveAttribute('data-connection', /lost|connecting/)
  await expect(drawer(page).getByRole('button', { name: /^Allow once/ })).toHaveAttribute('title', 'The daemon is not connected')

  await daemon.restart()
  await isLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await page.reload()
  await isLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('late.txt')
  await press(page, 'Allow once')
  await expect(drawer(page)).toBeHidden()
  await expect.poll(() => readFile(join(folder, 'late.txt'), 'utf8').catch(() => '')).toBe('late')
})

test('a request with a large body is shown whole, and survives a reload', async ({ page, daemon }) => {
  const { ask } = await agent(daemon)
  const content = Array.from({ length: 700 }, (_, index) => `line number ${String(index + 1)}\n`).join('')
  await login(page, daemon)
  const came = ask('fs.writeFile', { path: 'big.txt', content })
  for (const _ of [1, 2]) {
    await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('big.txt')
    await expect(drawer(page).locator('.line.add').first()).toContainText('line number 1')
    await expect(drawer(page)).toContainText('more lines are not shown yet')
    await drawer(page).getByRole('button', { name: 'Show more' }).click()
    await expect(drawer(page).locator('.line.add')).toHaveCount(700)
    await page.reload()
    await isLive(page)
  }
  await press(page, 'Deny')
  expect((await came).status).toBe(403)
  await expect(drawer(page)).toBeHidden()
})

test('"always" shows its rule, which can be changed before it is written', async ({ page, daemon }) => {
  const { ask } = await agent(daemon)
  await login(page, daemon)
  const came = ask('fs.writeFile', { path: 'log.txt', content: '1' })
  await press(page, /^Allow always/)
  const rule = drawer(page).getByRole('textbox')
  await expect(rule).toHaveValue(/effect *= *"allow"/)
  await rule.fill('this is no rule')
  await press(page, 'Write the rule and allow')
  await expect(drawer(page).getByRole('alert')).toBeVisible()
  // What was typed is not lost.
  await expect(rule).toHaveValue('this is no rule')
  await press(page, 'As it was')
  await press(page, 'Write the rule and allow')
  expect((await came).status).toBe(200)
  expect((await ask('fs.writeFile', { path: 'log.txt', content: '2' })).status).toBe(200)
  await page.goto(`${daemon.origin}/#/projects/alpha/policy`)
  await expect(page.getByRole('list', { name: 'Rules: Yours' })).toContainText('log.txt')
})

test('a link leads to a request', async ({ page, daemon }) => {
  const { ask } = await agent(daemon)
  await login(page, daemon)
  const { body } = await ask('fs.writeFile', { path: 'a.txt', content: 'a' }, 0)
  const second = ask('fs.writeFile', { path: 'b.txt', content: 'b' })
  await expect(drawer(page).getByRole('heading', { level: 2 })).toHaveText('2 requests wait')
  await page.goto(`${daemon.origin}/#/timeline?approval=${String(body['approvalId'])}`)
  await isLive(page)
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('a.txt')
  // Looking at another page takes nothing off the desk.
  await page.getByRole('link', { name: /^alpha/ }).click()
  await page.getByRole('link', { name: 'Run', exact: true }).click()
  await expect(page.getByText('Nothing was printed yet')).toBeVisible()
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('a.txt')
  await drawer(page).getByRole('link', { name: 'The story of this action' }).click()
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('It waits for the answer of a person')
  await press(page, 'Deny')
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('denied it')
  await press(page, 'Deny')
  expect((await second).status).toBe(403)
})
