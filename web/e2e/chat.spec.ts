/** Talking with a model: a real daemon, a provider over HTTP, and everything that can go wrong on the way. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { MOD_KEY } from './keys.ts'
import { answers, calls, composer, conversation, Model, pressHere, say, talkative } from './model.ts'
import { chip, Daemon, drawer, expect, isLive, login, test as base, type Page } from './provost.ts'
import { watch } from './watch.ts'

const test = base.extend<{ model: Model; daemon: Daemon }>({
  model: async ({}, use) => {
    const model = await Model.start()
    await use(model)
    await model.end()
  },
  daemon: async ({ model }, use) => {
    const daemon = await Daemon.configured(model.config)
    await use(daemon)
    await daemon.end()
  },
})

const UNSEEN = /[\u0000-\u0008\u000E-\u001F\u200B\u202A-\u202E\u2066-\u2069]/

/** Says something, and waits until the turn is over. */
async function turnOf(daemon: Daemon, session: string, text: string): Promise<void> {
  const response = await fetch(`${daemon.origin}/api/sessions/${session}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await daemon.token()}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ text }),
  })
  await response.text()
}

async function chat(page: Page, daemon: Daemon): Promise<void> {
  await login(page, daemon, '#/projects/app/chat')
  await expect(composer(page)).toBeVisible()
}

test('what is said streams in, with its thoughts folded, its code and its cost', async ({ page, daemon, model }) => {
  await talkative(daemon)
  const heard = watch(page)
  await chat(page, daemon)
  await say(page, 'Tell me about **boards**')
  await expect(page).toHaveURL(/session=/)
  await expect(conversation(page).getByRole('article', { name: 'You said' })).toHaveText('Tell me about **boards**')
  const asked = await model.asked()
  expect(asked.last).toContain('Tell me about **boards**')
  asked.think('They ask about boards.').say('# Boards\n\nA board is *flat*')
  await expect(answers(page).last()).toContainText('A board is flat')
  await expect(page.getByText('They ask about boards.')).toBeHidden()
  await page.getByText('Thought').or(page.getByText('Thinks…')).click()
  await expect(page.getByText('They ask about boards.')).toBeVisible()
  asked.say(' and hard.\n\n- one\n- two\n\n```js\nlet a = 1\n```\n').end()
  const answer = answers(page).last()
  await expect(answer.getByRole('listitem')).toHaveText(['one', 'two'])
  await expect(answer.getByRole('region', { name: 'Code' })).toContainText('let a = 1')
  await expect(answer.getByRole('button', { name: 'Copy the code' })).toBeVisible()
  await expect(page.locator('[data-cost]')).toContainText('1,234 tokens')
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toContainText('Tell me about **boards**')

  // Shift Enter is a new line, and what is typed and not sent stays.
  await composer(page).fill('one')
  await composer(page).press('Shift+Enter')
  await composer(page).pressSequentially('two')
  await expect(composer(page)).toHaveValue('one\ntwo')
  await page.keyboard.press('Alt+l')
  await page.keyboard.press('Alt+c')
  await expect(composer(page)).toHaveValue('one\ntwo')
  await expect(answers(page)).toHaveCount(1)
  expect(await heard()).toEqual([])
})

test('a reload in the midst of a stream loses nothing and doubles nothing', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Count')
  const asked = await model.asked()
  const words = Array.from({ length: 40 }, (_, n) => `word${String(n)} `)
  for (const word of words.slice(0, 15)) asked.say(word)
  await expect(answers(page).last()).toContainText('word14')
  const reloaded = page.reload()
  for (const word of words.slice(15, 30)) asked.say(word)
  await reloaded
  await isLive(page)
  for (const word of words.slice(30)) asked.say(word)
  await expect(answers(page).last()).toHaveText(words.join('').trim())
  asked.end()
  await expect(page.locator('[data-saying]')).toHaveCount(0)
  await expect(answers(page)).toHaveText([words.join('').trim()])
  await page.reload()
  await expect(answers(page)).toHaveText([words.join('').trim()])
})

test('a daemon that is killed in the midst of a stream keeps what was said, and goes on when asked', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Begin')
  const asked = await model.asked()
  asked.say('The first half')
  await expect(answers(page).last()).toContainText('The first half')
  await daemon.kill()
  await expect(chip(page)).toHaveAttribute('data-connection', 'lost')
  await expect(answers(page).last()).toContainText('The first half')
  await daemon.restart()
  await isLive(page)
  await expect(page.locator('[data-ending=interrupted]')).toContainText('Cut off')
  await expect(answers(page)).toHaveText(['The first half'])
  await page.getByRole('button', { name: 'Continue' }).click()
  const again = await model.asked()
  again.say('and the second.').end()
  await expect(page.locator('[data-ending]')).toHaveCount(0)
  await expect(answers(page)).toHaveText(['The first half', 'and the second.'])
})

test('a request that waits is still there after the daemon was killed, and what is allowed goes on', async ({ page, daemon, model }) => {
  const { folder } = await talkative(daemon, { 'notes.md': 'one\ntwo\n' })
  await chat(page, daemon)
  await say(page, 'Change it')
  ;(await model.asked()).call('fs_editFile', { path: 'notes.md', edits: [{ old: 'two', new: 'zwei' }] }).end()
  const card = calls(page)
  await expect(card).toHaveAttribute('data-call', 'waits')
  await expect(card.locator('.line.add')).toContainText('zwei')
  // It is answered here: the drawer does not come in the way.
  await expect(drawer(page)).toBeHidden()
  await daemon.kill()
  await expect(chip(page)).toHaveAttribute('data-connection', 'lost')
  await daemon.restart()
  await isLive(page)
  await expect(card).toHaveAttribute('data-call', 'waits')
  await page.reload()
  await expect(card).toHaveAttribute('data-call', 'waits')
  await pressHere(page, /^Allow once/)
  const asked = await model.asked()
  await expect(card).toHaveAttribute('data-call', 'ok')
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('one\nzwei\n')
  asked.say('Changed.').end()
  await expect(answers(page).last()).toHaveText('Changed.')
  await card.getByText('What changed').click()
  await expect(card.locator('.line.del')).toContainText('two')
  await card.getByRole('link', { name: 'Story' }).click()
  await expect(page.getByRole('list', { name: 'Steps' })).toContainText('allowed it: once')
})

test('a denial with a message reaches the model', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Run it')
  ;(await model.asked()).say('I run it.').call('terminal_runCommand', { command: 'rm -rf build' }).end()
  await expect(calls(page)).toContainText('rm -rf build')
  await pressHere(page, /^Deny with a message/)
  await page.getByLabel('What the asker is told').fill('use make clean')
  await pressHere(page, 'Deny and tell it this')
  const asked = await model.asked()
  expect(asked.last).toContain('use make clean')
  await expect(calls(page)).toHaveAttribute('data-call', 'denied')
  await expect(calls(page)).toContainText('use make clean')
  asked.say('As you like.').end()
  await expect(answers(page).last()).toHaveText('As you like.')
})

test('a command prints while it runs, and a turn that is stopped stops all of it', async ({ page, daemon, model }) => {
  const { project } = await talkative(daemon)
  await daemon.ask('PUT', `/api/projects/${project}/mode`, { mode: 'full', minutes: 5 })
  await chat(page, daemon)
  await say(page, 'Wait')
  ;(await model.asked()).call('terminal_runCommand', { command: 'echo it begins; sleep 600' }).end()
  await expect(calls(page).getByRole('log', { name: 'What it prints' })).toContainText('it begins')
  await expect(calls(page)).toHaveAttribute('data-call', 'runs')
  // What is said meanwhile waits for its turn.
  await say(page, 'And then?')
  await expect(conversation(page)).toContainText('waits for its turn')
  await page.reload()
  await expect(calls(page).getByRole('log', { name: 'What it prints' })).toContainText('it begins')
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(calls(page)).toHaveAttribute('data-call', 'cancelled')
  const asked = await model.asked()
  expect(asked.last).toContain('And then?')
  await expect(conversation(page)).not.toContainText('waits for its turn')
  asked.say('Half an ans')
  await expect(answers(page).last()).toContainText('Half an ans')
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(page.locator('[data-ending=cancelled]')).toBeVisible()
  await expect.poll(() => asked.gone).toBe(true)
})

test('a provider that fails is told with what to do, and asked again', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Hello')
  ;(await model.asked()).fail(401, 'the key is wrong')
  const end = page.locator('[data-ending=failed]')
  await expect(end).toContainText('the key is wrong')
  await page.reload()
  await expect(end).toContainText('the key is wrong')
  await end.getByRole('button', { name: 'Try again' }).click()
  ;(await model.asked()).fail(503, 'too many ask')
  await expect(conversation(page)).toContainText('The provider failed')
  ;(await model.asked()).say('Here I am.').end()
  await expect(answers(page)).toHaveText(['Here I am.'])
  await expect(page.locator('[data-ending]')).toHaveCount(0)
})

test('two browsers see the same, and an answer in one is an answer in both', async ({ browser, daemon, model }) => {
  await talkative(daemon)
  const [one, two] = await Promise.all([browser.newPage(), browser.newPage()])
  await chat(one, daemon)
  await say(one, 'Write it')
  ;(await model.asked()).say('I write.').call('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  await expect(calls(one)).toHaveAttribute('data-call', 'waits')
  await login(two, daemon, new URL(one.url()).hash)
  await expect(calls(two)).toHaveAttribute('data-call', 'waits')
  await pressHere(two, /^Allow once/)
  await expect(calls(one)).toHaveAttribute('data-call', 'ok')
  ;(await model.asked()).say('Done.').end()
  for (const page of [one, two]) await expect(answers(page)).toHaveText(['I write.', 'Done.'])
  await say(two, 'Thanks')
  await expect(conversation(one)).toContainText('Thanks')
  await one.context().close()
  await two.context().close()
})

test('nothing that a model writes does anything, or looks like something else', async ({ page, daemon, model }) => {
  await talkative(daemon)
  const heard = watch(page)
  await chat(page, daemon)
  await say(page, 'Go')
  const asked = await model.asked()
  asked
    .think('think\u202Eing <img src=x onerror="window.pwned=1">')
    .say('<img src=x onerror="window.pwned=1"> <script>window.pwned=1</script>\n\n')
    .say('![pic](https://evil.example/x.png) [google.com](https://evil.example/y) [x](javascript:window.pwned=1)\n\n')
    .say('trust\u202Eme zero\u200Bwidth \u001B[2J `co\u202Ede`\n\n<div style="position:fixed;inset:0"><button>Allow once</button></div>\n\n')
    .say('```\u202Ehtml\n<b>\u2066code</b>\n```\n\n| <i>a</i> | b |\n|---|---|\n| \u200B1 | <a href=x>2</a> |\n')
    .call('fs_readFile', { path: 'a\u202Etxt<b>' })
    .end()
  await expect(calls(page)).toHaveAttribute('data-call', 'error')
  ;(await model.asked()).say('end').end()
  const answer = answers(page).first()
  await expect(answer).toContainText('<script>window.pwned=1</script>')
  await expect(answer).toContainText('trust\\u{202E}me zero\\u{200B}width \\u{1B}[2J')
  await expect(answer).toContainText('google.com\u00a0(evil.example)')
  await expect(answer).toContainText('x (javascript:window.pwned=1)')
  await expect(answer.getByRole('link')).toHaveCount(1)
  await expect(answer.getByRole('button', { name: 'Allow once' })).toHaveCount(0)
  expect(await page.locator('img, script[src^=x], iframe').count()).toBe(0)
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
  await page.getByText('Thought').first().click()
  expect(await conversation(page).innerText()).not.toMatch(UNSEEN)
  expect(await heard()).toEqual([])
})

test('a long session opens at its end, fast, and its beginning is there', async ({ page, daemon, model }) => {
  test.setTimeout(120_000)
  const { project } = await talkative(daemon)
  const { id } = (await daemon.ask('POST', '/api/sessions', { project, role: 'dev' })) as { readonly id: string }
  for (let n = 0; n < 80; n++) {
    const turn = turnOf(daemon, id, `question ${String(n)}`)
    ;(await model.asked()).say(`answer ${String(n)}: ${'words and `code` and **more** '.repeat(20)}`).end()
    await turn
  }
  await login(page, daemon, `#/projects/app/chat?session=${id}`)
  await expect(answers(page).last()).toContainText('answer 79')
  expect(await answers(page).count()).toBeLessThan(40)
  await expect(conversation(page)).not.toContainText('question 0')
  // Going up shows more and more of what came before.
  const first = async (): Promise<string> => {
    await conversation(page).evaluate((box) => box.scrollTo(0, 0))
    return (await conversation(page).getByRole('article').first().innerText()).trim()
  }
  await expect.poll(first, { timeout: 20_000 }).toBe('question 0')
  await page.getByRole('button', { name: 'To the end' }).click()
  await expect(answers(page).last()).toBeInViewport()
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`no grave fault of access in the chat, ${colorScheme}`, async ({ page, daemon, model }) => {
    const isAccessible = async (view: string): Promise<void> => {
      const { violations } = await new AxeBuilder({ page }).analyze()
      const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`), view).toEqual([])
    }
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await talkative(daemon, { 'notes.md': 'one\ntwo\n' })
    await chat(page, daemon)
    await isAccessible('a new session')
    await say(page, 'Change it')
    const asked = await model.asked()
    asked.think('Hm.').say('# A title\n\nI *change* `it`, see [here](https://example.com):\n\n```js\nlet a\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n')
    await expect(answers(page).last()).toContainText('let a')
    await isAccessible('a stream')
    asked.call('fs_editFile', { path: 'notes.md', edits: [{ old: 'two', new: 'zwei' }] }).end()
    await expect(calls(page)).toHaveAttribute('data-call', 'waits')
    await isAccessible('a request that has only just come up')
    await pressHere(page, /^Deny( D)?$/)
    ;(await model.asked()).fail(401, 'the key is wrong')
    await expect(page.locator('[data-ending=failed]')).toBeVisible()
    await isAccessible('a turn that failed')
    await page.setViewportSize({ width: 390, height: 780 })
    await isAccessible('a phone')
    await page.getByRole('button', { name: 'Sessions' }).click()
    await isAccessible('the sessions on a phone')
  })
}

test('the chat is used with the keyboard alone', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await login(page, daemon, '#/projects/app/timeline')
  await page.keyboard.press(`${MOD_KEY}+k`)
  await page.keyboard.type('new session')
  await page.keyboard.press('Enter')
  await expect(composer(page)).toBeFocused()
  await page.keyboard.type('Write it')
  await page.keyboard.press('Enter')
  ;(await model.asked()).call('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  const request = conversation(page).getByRole('group', { name: 'A request' })
  await expect(request.getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  await request.focus()
  await page.keyboard.press('a')
  ;(await model.asked()).say('Done.').end()
  await expect(answers(page).last()).toHaveText('Done.')
})
