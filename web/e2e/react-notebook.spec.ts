/** The React example: an app of somebody else, with the packages, on a notebook that the UI has open too. */
import { resolve } from 'node:path'
import { createServer } from 'vite'
import { expect, test } from './daemon.ts'
import { cell, createNotebook, expectRuntimeStatus, openNotebook } from './notebook-pages.ts'

const EXAMPLE = resolve(import.meta.dirname, '../../examples/react-notebook')

test('an app in React runs a cell on the store that it already has', async ({ page, context, daemon }) => {
  const notebook = await createNotebook(daemon, [{ kind: 'code', source: 'print("from React")' }])
  process.env['PROVOST'] = daemon.origin
  process.env['PROVOST_TOKEN'] = await daemon.token()
  const server = await createServer({ configFile: `${EXAMPLE}/vite.config.ts`, server: { port: 0 }, logLevel: 'error', clearScreen: false, cacheDir: resolve(import.meta.dirname, '../node_modules/.vite-react-notebook') })
  try {
    await server.listen()
    const app = await context.newPage()
    await app.goto(`${server.resolvedUrls?.local[0] ?? ''}?notebook=${notebook.id}`)
    await expect(app.getByRole('heading', { name: notebook.title })).toBeVisible({ timeout: 30_000 })
    await app.getByRole('button', { name: 'Start the echo runtime' }).click()
    await expect(app.locator('[data-runtime]')).toHaveText('echo, ready')
    await app.getByRole('button', { name: 'Run' }).click()
    await expect(app.locator('[data-outputs]')).toHaveText('print("from React")')

    // The UI shows the same, and what is typed there is in the app.
    await openNotebook(page, daemon, notebook)
    await expect(cell(page, 1).getByRole('group', { name: 'Outputs' })).toHaveText('print("from React")')
    await expectRuntimeStatus(page, 'ready')
    await cell(page, 1).locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' # UI')
    await expect(app.getByLabel('Source')).toHaveValue('print("from React") # UI')
    await app.getByRole('button', { name: 'Stop' }).click()
    await expectRuntimeStatus(page, 'none')
  } finally {
    await server.close()
  }
})
