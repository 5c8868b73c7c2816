/** Notebooks for tests, and helpers for their page. */
import { expect, login, type Daemon, type Page } from './daemon.ts'
import { openTestProject } from './test-project.ts'

/** A cell for a new notebook. */
export type TestCell = { readonly kind: 'code' | 'markdown' | 'raw' | 'sql' | 'ai'; readonly source: string }

/** A notebook with cells in a new project. */
export type TestNotebook = { readonly id: string; readonly slug: string; readonly cells: readonly string[]; readonly title: string }

/** Creates a project with a notebook. */
export async function createNotebook(daemon: Daemon, cells: readonly TestCell[], name = 'lab'): Promise<TestNotebook> {
  const { project, slug } = await openTestProject(daemon, {}, name)
  const title = 'Sales'
  const { notebook } = (await daemon.request('POST', `/api/projects/${project}/notebooks`, { title, language: 'python' })) as { readonly notebook: { readonly id: string } }
  const ids = cells.map(() => crypto.randomUUID())
  const commands = cells.map(({ kind, source }, index) => ({ name: 'createCell', args: { cell: ids[index], kind, position: `a${String(index)}`, source, metadata: {} } }))
  if (commands.length > 0) await daemon.request('POST', `/api/notebooks/${notebook.id}/commands`, { commands })
  return { id: notebook.id, slug, cells: ids, title }
}

/** Opens a notebook in a page that may not be logged in. */
export async function openNotebook(page: Page, daemon: Daemon, { id, slug, title }: TestNotebook): Promise<void> {
  await login(page, daemon, `#/projects/${slug}/notebooks?notebook=${id}`)
  await expect(page.getByRole('textbox', { name: 'Title' })).toHaveValue(title)
}

/** A cell by its number on the screen, from 1. */
export function cell(page: Page, number: number) {
  return page.getByRole('listitem', { name: `Cell ${String(number)}`, exact: true })
}

/** The text of a cell in its editor. */
export async function sourceOf(page: Page, number: number): Promise<string> {
  const lines = await cell(page, number).locator('.cm-line').allTextContents()
  return lines.join('\n')
}

/** Types at the end of a cell. */
export async function typeInCell(page: Page, number: number, text: string): Promise<void> {
  await cell(page, number).locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(text)
}

/** Waits until everything was saved. */
export async function expectSaved(page: Page): Promise<void> {
  await expect(page.locator('[data-pending]')).toHaveAttribute('data-pending', '0', { timeout: 15_000 })
}

/** Starts the echo runtime of the page and waits until it is ready. */
export async function startEcho(page: Page): Promise<void> {
  await page.locator('[data-runtime-status] button').first().click()
  await page.getByRole('button', { name: /^Echo, in this page/ }).click()
  await expectRuntimeStatus(page, 'ready')
}

/** Waits until the chooser shows this status. */
export async function expectRuntimeStatus(page: Page, status: string): Promise<void> {
  await expect(page.locator('[data-runtime-status]')).toHaveAttribute('data-runtime-status', status, { timeout: 15_000 })
}

/** The commands of a runtime that a test plays over HTTP. */
export async function playRuntime(daemon: Daemon, { id }: TestNotebook): Promise<(...commands: readonly unknown[]) => Promise<void>> {
  return async (...commands) => {
    await daemon.request('POST', `/api/notebooks/${id}/commands`, { commands })
  }
}
