/** Handed-off tasks and compaction. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { roleText } from './agent.ts'
import { chatProject, clickInlineAnswer, conversation, inlineApprovals, modelMessages, openChat, sendMessage, test, toolCalls } from './fake-provider.ts'
import { drawer, expect } from './daemon.ts'

test('a handed-off task can be followed, is approved in its own session, and returns', async ({ page, daemon, model }) => {
  const { folder } = await chatProject(daemon, { '.provost/roles/writer.md': roleText('writer', ['fs.write']) })
  await openChat(page, daemon)
  await page.getByLabel('Role').selectOption('dev')
  await sendMessage(page, 'Have it written')
  ;(await model.nextRequest()).sendText('The writer does that.').sendCall('handoff', { role: 'writer', task: 'Write a.txt.' }).end()
  const child = await model.nextRequest()
  expect(child.lastMessage).toContain('Write a.txt.')
  await expect(toolCalls(page)).toContainText('Hand off to writer')
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'running')
  child.sendCall('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  // The approval of the child session is announced here and answered there.
  await expect(page.getByText('1 pending approval elsewhere')).toBeVisible()
  await expect(drawer(page)).toBeHidden()
  await toolCalls(page).getByRole('link', { name: 'Open session' }).click()
  await expect(conversation(page).getByRole('article', { name: 'Your message' })).toHaveText('Write a.txt.')
  await expect(page.getByText('role writer').first()).toBeVisible()
  await expect(inlineApprovals(page)).toBeVisible()
  await expect(page.getByText('1 pending approval elsewhere')).toBeHidden()
  await clickInlineAnswer(page, /^Allow once/)
  ;(await model.nextRequest()).sendText('It is written.').end()
  await expect(modelMessages(page).last()).toHaveText('It is written.')
  expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('a\n')
  const parent = await model.nextRequest()
  expect(parent.lastMessage).toContain('It is written.')
  parent.sendText('All done.').end()
  await page.getByRole('link', { name: 'parent' }).click()
  await expect(modelMessages(page)).toHaveText(['The writer does that.', 'All done.'])
  await expect(toolCalls(page)).toHaveAttribute('data-call', 'ok')
})

test('a compacted conversation says so and can still be read', async ({ page, daemon, model }) => {
  await chatProject(daemon)
  await openChat(page, daemon)
  await sendMessage(page, 'The first thing')
  ;(await model.nextRequest()).sendText('The first answer.').end()
  await expect(page.locator('[data-draft]')).toHaveCount(0)
  await sendMessage(page, 'The second thing')
  ;(await model.nextRequest()).fail(400, 'prompt is too long: 210000 tokens > 200000 maximum')
  ;(await model.nextRequest()).sendText('They asked for **two things**.').end()
  const again = await model.nextRequest()
  expect(again.lastMessage).toContain('They asked for **two things**.')
  again.sendText('The second answer.').end()
  await expect(modelMessages(page)).toHaveText(['The first answer.', 'The second answer.'])
  for (const look of ['at once', 'after a reload']) {
    if (look === 'after a reload') await page.reload()
    const line = conversation(page).getByText('Earlier messages were summarized for the model. You can still read them.')
    await expect(line).toBeVisible()
    await expect(conversation(page).getByText('two things')).toBeHidden()
    await line.click()
    await expect(conversation(page).getByText('two things')).toBeVisible()
    await expect(conversation(page)).toContainText('The first thing')
  }
})
