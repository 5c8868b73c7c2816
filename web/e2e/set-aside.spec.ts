/** What a command left and was set aside is put back by an answer that shows it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agent, write } from './agent.ts'
import { clickAnswer, drawer, expect, login, test } from './daemon.ts'

/** One file or link that was set aside, as a result reports it. */
type SetAside = { readonly path: string; readonly id: string }

test('what a command left is put back after its content was shown', async ({ page, daemon }) => {
  const { request, folder, project } = await agent(daemon)
  await write(folder, 'src/Makefile', 'all:\n\techo own\n')
  await daemon.request('PUT', `/api/projects/${project}/mode`, { mode: 'auto' })
  await login(page, daemon)

  const command = "printf 'all:\\n\\techo second\\n' > makefile"
  const { body } = await request('terminal.runCommand', { command, cwd: 'src' })
  const [entry] = (body['result'] as { readonly setAside: { readonly entries: readonly SetAside[] } }).setAside.entries
  expect(entry?.path).toBe('src/makefile')
  const params = { path: entry?.path, id: entry?.id }

  const denied = request('fs.restoreFile', params)
  const card = drawer(page)
  await expect(card.getByRole('heading', { level: 3 })).toContainText('put back src/makefile, which was set aside')
  await expect(card.getByText('Dangerous: always requires approval')).toBeVisible()
  await expect(card).toContainText('make uses only one of it and Makefile')
  await expect(card.locator('.line.add')).toContainText(['echo second'])
  await expect(card.getByRole('button', { name: /^Allow/ })).toHaveCount(1)
  await clickAnswer(page, 'Deny')
  expect((await denied).body['code']).toBe('APPROVAL_DENIED')
  await expect(readFile(join(folder, 'src/makefile'), 'utf8')).rejects.toThrow()

  const allowed = request('fs.restoreFile', params)
  await clickAnswer(page, /^Allow/)
  expect((await allowed).status).toBe(200)
  expect(await readFile(join(folder, 'src/makefile'), 'utf8')).toBe('all:\n\techo second\n')
})

test('a second build file is written after one answer', async ({ page, daemon }) => {
  const { request, folder, project } = await agent(daemon)
  await write(folder, 'vite.config.ts', 'export default {}\n')
  await daemon.request('PUT', `/api/projects/${project}/mode`, { mode: 'auto' })
  await login(page, daemon)
  const result = request('fs.writeFile', { path: 'vite.config.js', content: 'export default { a: 1 }\n' })
  await expect(drawer(page)).toContainText('vite uses only one of vite.config.js and vite.config.ts')
  await expect(drawer(page).locator('.line.add')).toContainText('export default { a: 1 }')
  await clickAnswer(page, /^Allow/)
  expect((await result).status).toBe(200)
  expect((await request('terminal.runCommand', { command: 'true' })).status).toBe(200)
  expect(await readFile(join(folder, 'vite.config.js'), 'utf8')).toBe('export default { a: 1 }\n')
})
