/** Approvals in a conversation: visible, and answered by click or key. */
import { agent } from './agent.ts'
import { chatProject, clickInlineAnswer, composer, conversation, inlineApprovals, modelMessages, openChat, sendMessage, test, toolCalls } from './fake-provider.ts'
import { drawer, expect, type Page } from './daemon.ts'

const LONG = Array.from({ length: 160 }, (_, n) => `line number ${String(n)}\n`).join('')
const DENY = /^Deny( D)?$/

function stop(page: Page) {
  return page.getByRole('button', { name: 'Stop', exact: true })
}

/** Expects the heading, both answers and the stop button to be fully visible. */
async function expectVisible(page: Page): Promise<void> {
  for (const name of [/^Allow once/, DENY]) await expect(inlineApprovals(page).getByRole('button', { name })).toBeInViewport({ ratio: 1 })
  await expect(inlineApprovals(page).getByRole('heading', { level: 3 })).toBeInViewport({ ratio: 1 })
  await expect(stop(page)).toBeInViewport({ ratio: 1 })
}

for (const [width, height] of [[1280, 800], [1024, 640], [400, 780]] as const) {
  test(`at ${String(width)} by ${String(height)} a long approval shows its heading and both answers`, async ({ page, daemon, model }) => {
    await page.setViewportSize({ width, height })
    await chatProject(daemon)
    await openChat(page, daemon)
    await sendMessage(page, 'Write it')
    const modelRequest = await model.nextRequest()
    for (let n = 0; n < 40; n++) modelRequest.sendText(`Paragraph ${String(n)}.\n\n`)
    modelRequest.sendCall('fs_writeFile', { path: 'long.txt', content: LONG }).end()
    await expect(toolCalls(page)).toHaveAttribute('data-call', 'pending')
    await expectVisible(page)
    // The details scroll in their own frame.
    const region = inlineApprovals(page).getByRole('region', { name: 'Action details' })
    await region.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await expect(inlineApprovals(page).getByText('Requester, parameters')).toBeInViewport()
    await expect(inlineApprovals(page).getByRole('button', { name: DENY })).toBeInViewport({ ratio: 1 })
    await page.reload()
    await expectVisible(page)
    await clickInlineAnswer(page, DENY)
    await expect(toolCalls(page)).toHaveAttribute('data-call', 'denied')
  })
}

test('the listed keys answer an approval, and typing a message does not', async ({ page, daemon, model }) => {
  await chatProject(daemon)
  await openChat(page, daemon)
  await sendMessage(page, 'Write it')
  ;(await model.nextRequest()).sendCall('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  const request = inlineApprovals(page)
  await expect(request.getByRole('button', { name: /^Allow once/ })).toHaveAttribute('aria-disabled', 'false')
  await expect(composer(page)).toBeFocused()
  await expect(request).toContainText('Alt A focuses this approval')
  await expect(request.getByRole('button', { name: 'Allow once', exact: true })).toBeVisible()
  await page.keyboard.type('a day')
  await expect(composer(page)).toHaveValue('a day')
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'pending')
  await page.keyboard.press('Alt+a')
  await expect(request).toBeFocused()
  await expect(request).toContainText('A S D M answer')
  await expect(request.getByRole('button', { name: 'Allow once A' })).toBeVisible()
  await expect(request).not.toContainText('Alt A focuses this approval')
  await page.keyboard.press('Escape')
  await expect(composer(page)).toBeFocused()
  await page.keyboard.press('Alt+a')
  await page.keyboard.press('a')
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'ok')
  // The next approval takes the focus, because nothing is being typed.
  ;(await model.nextRequest()).sendCall('fs_writeFile', { path: 'b.txt', content: 'b\n' }).end()
  await expect(request).toBeFocused()
  await expect(request).toContainText('A S D M answer')
  await expect(request.getByRole('button', { name: DENY })).toHaveAttribute('aria-disabled', 'false')
  await page.keyboard.press('d')
  await expect(toolCalls(page).last()).toHaveAttribute('data-call', 'denied')
  await expect(composer(page)).toHaveValue('a day')
  ;(await model.nextRequest()).sendText('Then not.').end()
})

test('Alt A moves the focus from one approval to the next', async ({ page, daemon, model }) => {
  await chatProject(daemon)
  await openChat(page, daemon)
  await sendMessage(page, 'Write them')
  ;(await model.nextRequest()).sendCall('fs_writeFile', { path: 'a.txt', content: 'a\n' }).sendCall('fs_writeFile', { path: 'b.txt', content: 'b\n' }).end()
  await expect(inlineApprovals(page)).toHaveCount(2)
  for (const n of [0, 1, 0]) {
    await page.keyboard.press('Alt+a')
    await expect(inlineApprovals(page).nth(n)).toBeFocused()
  }
})

test('the scroll position stays after scrolling up, and a button leads to the approval', async ({ page, daemon, model }) => {
  await chatProject(daemon)
  await openChat(page, daemon)
  await sendMessage(page, 'Write it')
  const modelRequest = await model.nextRequest()
  for (let n = 0; n < 80; n++) modelRequest.sendText(`Paragraph ${String(n)}.\n\n`)
  await expect(modelMessages(page).last()).toContainText('Paragraph 79.')
  await conversation(page).hover()
  await page.mouse.wheel(0, -1500)
  await expect(page.getByRole('button', { name: 'Jump to end' })).toBeVisible()
  const place = await conversation(page).evaluate((box) => box.scrollTop)
  modelRequest.sendCall('fs_writeFile', { path: 'a.txt', content: LONG }).end()
  const button = page.getByRole('button', { name: 'Go to approval' })
  await expect(button).toBeVisible()
  expect(await conversation(page).evaluate((box) => box.scrollTop)).toBe(place)
  await button.click()
  await expectVisible(page)
})

test('approvals of other agents are announced in the conversation, and do not cover it', async ({ page, daemon, model }) => {
  await chatProject(daemon)
  const other = await agent(daemon)
  await openChat(page, daemon)
  await sendMessage(page, 'Write it')
  ;(await model.nextRequest()).sendCall('fs_writeFile', { path: 'a.txt', content: LONG }).end()
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'pending')
  const asks = other.request('terminal.runCommand', { command: 'make' })
  await expect(page.getByText('1 pending approval elsewhere')).toBeVisible()
  await expect(drawer(page)).toBeHidden()
  await expectVisible(page)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await expect(drawer(page).getByRole('heading', { level: 3 })).toContainText('make')
  // The drawer is beside the conversation, so the turn can still be stopped.
  await expect(stop(page)).toBeInViewport({ ratio: 1 })
  await stop(page).click()
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'cancelled')
  await drawer(page).getByRole('button', { name: DENY }).click()
  expect((await asks).status).toBe(403)
  await expect(drawer(page)).toBeHidden()
})
