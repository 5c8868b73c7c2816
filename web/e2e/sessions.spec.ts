/** What sessions do among themselves and with what is long: tasks that are handed over, and summaries. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { roleText } from './agent.ts'
import { answers, calls, chat, conversation, pressHere, requests, say, talkative, test } from './model.ts'
import { drawer, expect } from './provost.ts'

test('a task that is handed over is followed, answered in its own session, and returns', async ({ page, daemon, model }) => {
  const { folder } = await talkative(daemon, { '.provost/roles/writer.md': roleText('writer', ['fs.write']) })
  await chat(page, daemon)
  await page.getByLabel('Role').selectOption('dev')
  await say(page, 'Have it written')
  ;(await model.asked()).say('The writer does that.').call('handoff', { role: 'writer', task: 'Write a.txt.' }).end()
  const child = await model.asked()
  expect(child.last).toContain('Write a.txt.')
  await expect(calls(page)).toContainText('Hand over to writer')
  await expect(calls(page)).toHaveAttribute('data-call', 'runs')
  child.call('fs_writeFile', { path: 'a.txt', content: 'a\n' }).end()
  // What the other asks is told here, and answered there.
  await expect(page.getByText('1 request waits elsewhere')).toBeVisible()
  await expect(drawer(page)).toBeHidden()
  await calls(page).getByRole('link', { name: 'Its session' }).click()
  await expect(conversation(page).getByRole('article', { name: 'You said' })).toHaveText('Write a.txt.')
  await expect(page.getByText('role writer').first()).toBeVisible()
  await expect(requests(page)).toBeVisible()
  await expect(page.getByText('1 request waits elsewhere')).toBeHidden()
  await pressHere(page, /^Allow once/)
  ;(await model.asked()).say('It is written.').end()
  await expect(answers(page).last()).toHaveText('It is written.')
  expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('a\n')
  const parent = await model.asked()
  expect(parent.last).toContain('It is written.')
  parent.say('All done.').end()
  await page.getByRole('link', { name: 'from' }).click()
  await expect(answers(page)).toHaveText(['The writer does that.', 'All done.'])
  await expect(calls(page)).toHaveAttribute('data-call', 'ok')
})

test('a conversation that was summarized says so, and stays to be read', async ({ page, daemon, model }) => {
  await talkative(daemon)
  await chat(page, daemon)
  await say(page, 'The first thing')
  ;(await model.asked()).say('The first answer.').end()
  await expect(page.locator('[data-saying]')).toHaveCount(0)
  await say(page, 'The second thing')
  ;(await model.asked()).fail(400, 'prompt is too long: 210000 tokens > 200000 maximum')
  ;(await model.asked()).say('They asked for **two things**.').end()
  const again = await model.asked()
  expect(again.last).toContain('They asked for **two things**.')
  again.say('The second answer.').end()
  await expect(answers(page)).toHaveText(['The first answer.', 'The second answer.'])
  for (const look of ['at once', 'after a reload']) {
    if (look === 'after a reload') await page.reload()
    const line = conversation(page).getByText('What came before was summarized for the model. You can still read it.')
    await expect(line).toBeVisible()
    await expect(conversation(page).getByText('two things')).toBeHidden()
    await line.click()
    await expect(conversation(page).getByText('two things')).toBeVisible()
    await expect(conversation(page)).toContainText('The first thing')
  }
})
