/** Notebooks in real browsers: editing, running, merging, and what outputs cannot reach. */
import { AxeBuilder } from '@axe-core/playwright'
import { collectErrors } from './collect-errors.ts'
import { expect, expectLive, login, test } from './daemon.ts'
import { cell, createNotebook, expectRuntimeStatus, expectSaved, openNotebook, playRuntime, sourceOf, startEcho, typeInCell } from './notebook-pages.ts'
import { openTestProject } from './test-project.ts'

const SESSION = '0192aaaa-0000-7000-8000-000000000001'
const ALL = { canExecuteCode: true, canExecuteSql: true, canExecuteAi: false }

test('a notebook is created, edited, run by a runtime in the page, and read again', async ({ page, daemon }) => {
  const { slug } = await openTestProject(daemon, {}, 'lab')
  const errors = collectErrors(page)
  await login(page, daemon, `#/projects/${slug}/notebooks`)
  await page.getByRole('textbox', { name: 'Title of a new notebook' }).fill('Sales')
  await page.getByRole('button', { name: 'New notebook' }).click()
  await expect(page.getByRole('textbox', { name: 'Title', exact: true })).toHaveValue('Sales')

  await page.getByRole('button', { name: 'Code', exact: true }).click()
  await expect(cell(page, 1).locator('.cm-content')).toBeFocused()
  await page.keyboard.type('print("one")')
  await expectRuntimeStatus(page, 'none')
  await startEcho(page)
  await cell(page, 1).locator('.cm-content').click()
  await page.keyboard.press('Shift+Enter')
  await expect(cell(page, 1)).toHaveAttribute('data-outcome', 'ok')
  await expect(cell(page, 1).getByRole('group', { name: 'Outputs' })).toHaveText('print("one")')
  // The last cell was run: there is a new one, which has the keyboard.
  await expect(cell(page, 2).locator('.cm-content')).toBeFocused()
  await expectSaved(page)
  const picture = process.env['NOTEBOOK_PICTURE']
  if (picture !== undefined) await page.screenshot({ path: picture })
  const { violations } = await new AxeBuilder({ page }).disableRules(['region']).analyze()
  expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])

  // The runtime ends with its page, and says so.
  await page.reload()
  await expectLive(page)
  await expect(cell(page, 1).getByRole('group', { name: 'Outputs' })).toHaveText('print("one")')
  await expectRuntimeStatus(page, 'none')
  expect(await errors()).toEqual([])
})

test('the keyboard adds, moves, changes, deletes and restores cells', async ({ page, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'one' }, { kind: 'code', source: 'two' }])
  await openNotebook(page, daemon, notebook)
  await cell(page, 1).locator('.cm-content').click()
  await expect(page.getByRole('list', { name: 'Cells' })).toHaveAttribute('data-mode', 'edit')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('list', { name: 'Cells' })).toHaveAttribute('data-mode', 'command')
  await page.keyboard.press('b')
  await expect(cell(page, 3)).toBeVisible()
  await expect(cell(page, 2)).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('m')
  await expect(cell(page, 2)).toHaveAttribute('data-kind', 'markdown')
  await page.keyboard.press('Enter')
  await page.keyboard.type('# A **title**')
  await page.keyboard.press('Escape')
  await expect(cell(page, 2).getByText('A title')).toBeVisible()
  await page.keyboard.press('ArrowDown')
  await expect(cell(page, 3)).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('d')
  await page.keyboard.press('d')
  await expect(cell(page, 3)).toHaveCount(0)
  await page.keyboard.press('z')
  await expect(cell(page, 3).locator('.cm-content')).toHaveText('two')
  await page.keyboard.press('a')
  await expect(cell(page, 4)).toBeVisible()
  await expectSaved(page)
})

test('two browsers that edit one cell while they are offline merge', async ({ page, browser, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'middle' }])
  const other = await (await browser.newContext()).newPage()
  for (const each of [page, other]) await openNotebook(each, daemon, notebook)
  await daemon.kill()
  for (const each of [page, other]) await expect(each.locator('[data-banner="offline"]')).toBeVisible()
  await typeInCell(page, 1, ' from Ann')
  await cell(other, 1).locator('.cm-content').click()
  await other.keyboard.press('Control+Home')
  await other.keyboard.type('from Bob ')
  await daemon.restart()
  for (const each of [page, other]) {
    await expect(cell(each, 1).locator('.cm-content')).toHaveText('from Bob middle from Ann', { timeout: 30_000 })
    await expectSaved(each)
    await expect(each.locator('[data-banner="refused"]')).toHaveCount(0)
  }
  await other.context().close()
})

test('a tab that crashes keeps what it had not sent', async ({ context, page, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'kept' }])
  await openNotebook(page, daemon, notebook)
  await daemon.kill()
  await expect(page.locator('[data-banner="offline"]')).toBeVisible()
  await typeInCell(page, 1, ' and typed')
  await expect(page.locator('[data-pending]')).not.toHaveAttribute('data-pending', '0')
  // Stored as soon as the browser has nothing left to write.
  await expect
    .poll(() =>
      page.evaluate(
        () =>
          new Promise<string>((resolve) => {
            const open = indexedDB.open('provost-notebooks')
            open.onsuccess = () => {
              const all = open.result.transaction('journals').objectStore('journals').getAll()
              all.onsuccess = () => {
                open.result.close()
                resolve(JSON.stringify(all.result))
              }
            }
          }),
      ),
    )
    .toContain('[13,[0,"d"]]')
  const crashed = page.waitForEvent('crash')
  void page.goto('chrome://crash').catch(() => undefined)
  await crashed
  await daemon.restart()
  const next = await context.newPage()
  await openNotebook(next, daemon, notebook)
  await expect(cell(next, 1).locator('.cm-content')).toHaveText('kept and typed')
  await expectSaved(next)
  const { cells } = (await daemon.request('GET', `/api/notebooks/${notebook.id}`)) as { readonly cells: readonly { readonly source: string }[] }
  expect(cells.map(({ source }) => source)).toEqual(['kept and typed'])
})

test('a keystroke is seen in a second browser at once', async ({ page, browser, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'x' }])
  const other = await (await browser.newContext()).newPage()
  for (const each of [page, other]) await openNotebook(each, daemon, notebook)
  await cell(page, 1).locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await expect(other.locator('[data-other]')).toHaveCount(1)
  for (const letter of 'abcdefgh') {
    await page.keyboard.type(letter)
    await expect.poll(() => sourceOf(other, 1)).toContain(letter)
  }
  await expect(cell(other, 1).locator('.cm-content')).toHaveText('xabcdefgh')
  await other.context().close()
})

test('a runtime that another one displaces says so, and what waits is run by the other', async ({ page, browser, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'hello' }])
  const other = await (await browser.newContext()).newPage()
  for (const each of [page, other]) await openNotebook(each, daemon, notebook)
  await startEcho(page)
  await expectRuntimeStatus(other, 'ready')
  await startEcho(other)
  await expect(page.locator('[data-banner="runtime"]')).toContainText('Another runtime has taken over')
  await page.getByRole('button', { name: 'Run cell 1' }).click()
  for (const each of [page, other]) await expect(cell(each, 1).getByRole('group', { name: 'Outputs' })).toHaveText('hello')
  await expect(page.locator('[data-runtime-status]')).toHaveAttribute('data-runtime-type', 'echo')
  // It ends with its page.
  await other.close()
  await expectRuntimeStatus(page, 'none')
  await other.context().close()
})

test('a cell that waits is cancelled', async ({ page, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'never' }])
  await openNotebook(page, daemon, notebook)
  await page.getByRole('button', { name: 'Run cell 1' }).click()
  await expect(cell(page, 1)).toHaveAttribute('data-execution', 'queued')
  await expect(page.locator('[data-queue]')).toHaveText('1 to run')
  await page.getByTitle('Cancel what runs and what waits').click()
  await expect(cell(page, 1)).toHaveAttribute('data-outcome', 'cancelled')
  await expect(page.locator('[data-queue]')).toHaveAttribute('data-queue', '0')
})

test('outputs of all kinds are shown, and reach neither the page, the cookie nor the API', async ({ page, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'show()' }])
  const [target = ''] = notebook.cells
  const send = await playRuntime(daemon, notebook)
  const execution = '0192aaaa-0000-7000-8000-000000000002'
  await send({ name: 'requestExecution', args: { execution, cell: target, revision: 0 } }, { name: 'startSession', args: { session: SESSION, runtimeId: 'test', runtimeType: 'test', place: 'native', capabilities: ALL } })
  await send({ name: 'setSessionStatus', args: { session: SESSION, fence: 1, status: 'ready' } })
  await send({ name: 'claimExecution', args: { execution, session: SESSION, fence: 1 } }, { name: 'startExecution', args: { execution, fence: 1 } })
  const attack = `<h2>A table</h2><script>
    const tries = {
      cookie: () => document.cookie === '' ? Promise.reject(new Error('none')) : document.cookie,
      parent: () => parent.document.title,
      storage: () => localStorage.getItem('provost.page'),
      api: () => fetch('${daemon.origin}/api/projects').then((response) => response.text()),
      script: () => import('${daemon.origin}/theme.js'),
      top: () => { top.location = 'about:blank'; return 'moved' },
      socket: () => new Promise((done, fail) => { const socket = new WebSocket('${daemon.origin.replace('http', 'ws')}/api/sync'); socket.onopen = done; socket.onerror = fail }),
      image: () => new Promise((done, fail) => { const image = new Image(); image.onload = done; image.onerror = fail; image.src = '${daemon.origin}/icon.svg' }),
    }
    Promise.all(Object.entries(tries).map(async ([name, run]) => { try { await run(); return name + ' reached' } catch { return name + ' refused' } }))
      .then((results) => { const list = document.createElement('p'); list.id = 'results'; list.textContent = results.join(', '); document.body.append(list) })
  </script>`
  const outputs = [
    { type: 'stream', name: 'stdout', text: '\u001b[32mgreen\u001b[0m\n10%\r100%\n' },
    { type: 'display', data: { 'text/html': { inline: attack }, 'text/plain': { inline: 'plain' } } },
    { type: 'display', data: { 'image/svg+xml': { inline: '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><script>parent.document.title = "reached"</script><circle id="dot" r="20" cx="20" cy="20"/></svg>' } } },
    { type: 'display', data: { 'image/png': { inline: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' }, 'text/plain': { inline: 'a dot' } } },
    { type: 'display', data: { 'application/vnd.dataresource+json': { inline: { schema: { fields: [{ name: 'n' }] }, data: Array.from({ length: 120 }, (_, n) => ({ n })) } } } },
    { type: 'markdown', text: '**bold** text' },
    { type: 'error', name: 'ValueError', value: 'no', traceback: ['\u001b[31mTraceback\u001b[0m', 'ValueError: no'] },
  ]
  await send(...outputs.map((content, index) => ({ name: 'addOutput', args: { execution, fence: 1, output: `0192aaaa-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`, content } })))
  await send({ name: 'finishExecution', args: { execution, fence: 1, outcome: 'error', why: null } })

  await openNotebook(page, daemon, notebook)
  const shown = cell(page, 1).getByRole('group', { name: 'Outputs' })
  await expect(shown.getByRole('region', { name: 'Printed text' })).toHaveText('green\n100%')
  await expect(shown.getByText('green')).toHaveCSS('color', /rgb/)
  await expect(shown.getByRole('region', { name: 'Errors' })).toContainText('ValueError: no')
  await expect(shown.getByRole('img', { name: 'a dot' })).toBeVisible()
  await expect(shown.getByText('bold')).toHaveCSS('font-weight', /[67]00/)
  await expect(shown.getByRole('region', { name: 'Table' }).locator('tbody tr')).toHaveCount(50)
  await shown.getByRole('button', { name: 'Next' }).click()
  await expect(shown.getByRole('region', { name: 'Table' }).locator('tbody tr').first()).toHaveText('50')
  const results = page.frameLocator('iframe[title="Output"]').first().locator('#results')
  await expect(results).toHaveText('cookie refused, parent refused, storage refused, api refused, script refused, top refused, socket refused, image refused', { timeout: 15_000 })
  await expect(page.frameLocator('iframe[title="Output"]').nth(1).locator('#dot')).toBeVisible()
  expect(await page.title()).not.toBe('reached')
  await expect(page).toHaveURL(/notebook=/)
})

test('the page in which outputs are shown can do nothing by itself', async ({ page, daemon }) => {
  await login(page, daemon)
  const response = await page.request.get(`${daemon.origin}/output-frame.html`)
  expect(response.headers()['content-security-policy']).toContain('sandbox allow-scripts; default-src \'none\'')
  const ui = await page.request.get(`${daemon.origin}/`)
  expect(ui.headers()['x-frame-options']).toBe('DENY')
  await page.goto(`${daemon.origin}/output-frame.html`)
  expect(await page.evaluate(() => self.origin)).toBe('null')
})
