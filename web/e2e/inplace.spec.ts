/** Requests where they come up: in sight, answered with a press or a key, and in nobody's way. */
import { agent } from './agent.ts'
import { answers, calls, chat, composer, conversation, pressHere, requests, say, talkative, test } from './model.ts'
import { drawer, expect, type Page } from './provost.ts'

const LONG = Array.from({ length: 160 }, (_, n) => `line number ${String(n)}\n`).join('')
const DENY = /^Deny( D)?$/

function stop(page: Page) {
  return page.getByRole('button', { name: 'Stop', exact: true })
}

/** Whether all that a person needs to answer can be seen. */
async function isInSight(page: Page): Promise<void> {
  for (const name of [/^Allow once/, DENY]) await expect(requests(page).getByRole('button', { name })).toBeInViewport({ ratio: 1 })
  await expect(requests(page).getByRole('heading', { level: 3 })).toBeInViewport({ ratio: 1 })
  await expect(stop(page)).toBeInViewport({ ratio: 1 })
}

for (const [width, height] of [[1280, 800], [1024, 640], [400, 780]] as const) {
  test(`at ${String(width)} by ${String(height)} a long request shows what is asked and both answers`, async ({ page, daemon, model }) => {
    await page.setViewportSize({ width, height })
    await talkative(daemon)
    await chat(page, daemon)
    await say(page, 'Write it')
    const asked = await model.asked()
    for (let n = 0; n < 40; n++) asked.say(`Paragraph ${String(n)}.\n\n`)
    asked.call('fs_writeFile', { path: 'long.txt', content: LONG }).end()
    await expect(calls(page)).toHaveAttribute('data-call', 'waits')
    await isInSight(page)
    // What is asked scrolls in its own frame, to its end.
    const region = requests(page).getByRole('region', { name: 'What is asked' })
    await region.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await expect(requests(page).getByText('Who asks, every parameter')).toBeInViewport()
    await expect(requests(page).getByRole('button', { name: DENY })).toBeInViewport({ ratio: 1 })
    await page.reload()
    await isInSight(page)
    await pressHere(page, DENY)
    await expect(calls(page)).toHaveAttribute('data-call', 'denied')
  })
}

test('the keys that a request names work, and what is typed into the message does not answer', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Write it')
  ;(await model.asked()).call('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  const request = requests(page)
  await expect(request.getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  await expect(composer(page)).toBeFocused()
  await expect(request).toContainText('Alt A goes here')
  await expect(request.getByRole('button', { name: 'Allow once', exact: true })).toBeVisible()
  await page.keyboard.type('a day')
  await expect(composer(page)).toHaveValue('a day')
  await expect(calls(page)).toHaveAttribute('data-call', 'waits')
  await page.keyboard.press('Alt+a')
  await expect(request).toBeFocused()
  await expect(request).toContainText('A S D M answer')
  await expect(request.getByRole('button', { name: 'Allow once A' })).toBeVisible()
  await expect(request).not.toContainText('Alt A goes here')
  await page.keyboard.press('Escape')
  await expect(composer(page)).toBeFocused()
  await page.keyboard.press('Alt+a')
  await page.keyboard.press('a')
  await expect(calls(page)).toHaveAttribute('data-call', 'ok')
  // The next one has the keys by itself, since nothing is typed.
  ;(await model.asked()).call('fs_writeFile', { path: 'b.txt', content: 'b\n' }).end()
  await expect(request).toBeFocused()
  await expect(request).toContainText('A S D M answer')
  await expect(request.getByRole('button', { name: DENY })).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('d')
  await expect(calls(page).last()).toHaveAttribute('data-call', 'denied')
  await expect(composer(page)).toHaveValue('a day')
  ;(await model.asked()).say('Then not.').end()
})

test('Alt A goes from one request to the next', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Write them')
  ;(await model.asked()).call('fs_writeFile', { path: 'a.txt', content: 'a\n' }).call('fs_writeFile', { path: 'b.txt', content: 'b\n' }).end()
  await expect(requests(page)).toHaveCount(2)
  for (const n of [0, 1, 0]) {
    await page.keyboard.press('Alt+a')
    await expect(requests(page).nth(n)).toBeFocused()
  }
})

test('who has scrolled up is not moved, and told that a request waits', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'Write it')
  const asked = await model.asked()
  for (let n = 0; n < 80; n++) asked.say(`Paragraph ${String(n)}.\n\n`)
  await expect(answers(page).last()).toContainText('Paragraph 79.')
  await conversation(page).hover()
  await page.mouse.wheel(0, -1500)
  await expect(page.getByRole('button', { name: 'To the end' })).toBeVisible()
  const place = await conversation(page).evaluate((box) => box.scrollTop)
  asked.call('fs_writeFile', { path: 'a.txt', content: LONG }).end()
  const button = page.getByRole('button', { name: 'A request waits' })
  await expect(button).toBeVisible()
  expect(await conversation(page).evaluate((box) => box.scrollTop)).toBe(place)
  await button.click()
  await isInSight(page)
})

test('requests of others are told in the conversation, and cover neither it nor its Stop', async ({ page, daemon, model }) => {
  await talkative(daemon)
  const other = await agent(daemon)
  await chat(page, daemon)
  await say(page, 'Write it')
  ;(await model.asked()).call('fs_writeFile', { path: 'a.txt', content: LONG }).end()
  await expect(calls(page)).toHaveAttribute('data-call', 'waits')
  const asks = other.ask('terminal.runCommand', { command: 'make' })
  await expect(page.getByText('1 request waits elsewhere')).toBeVisible()
  await expect(drawer(page)).toBeHidden()
  await isInSight(page)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('make')
  // It stands beside: what is under way can still be stopped.
  await expect(stop(page)).toBeInViewport({ ratio: 1 })
  await stop(page).click()
  await expect(calls(page)).toHaveAttribute('data-call', 'cancelled')
  await drawer(page).getByRole('button', { name: DENY }).click()
  expect((await asks).status).toBe(403)
  await expect(drawer(page)).toBeHidden()
})
