/** Every view in both themes, looked at by axe. */
import { AxeBuilder } from '@axe-core/playwright'
import { MOD_KEY } from './keys.ts'
import { chip, events, expect, isLive, login, openProject, test, type Page } from './provost.ts'

async function isAccessible(page: Page, view: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const grave = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
  expect(grave, view).toEqual([])
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`no grave fault of access in any view, ${colorScheme}`, async ({ page, daemon }) => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.goto(daemon.origin)
    await expect(page.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
    await isAccessible(page, 'logged out')

    await login(page, daemon)
    await expect(page.getByRole('heading', { name: 'Open your first project' })).toBeVisible()
    await isAccessible(page, 'welcome')

    await openProject(page, '/no/such/folder')
    await expect(page.getByRole('alert')).toBeVisible()
    await isAccessible(page, 'an error')

    await page.reload()
    await openProject(page, await daemon.folder('alpha'))
    await expect(events(page)).not.toHaveCount(0)
    await isAccessible(page, 'the timeline of a project')

    await page.getByRole('link', { name: 'All events', exact: true }).click()
    await events(page).first().click()
    await expect(page.getByRole('complementary')).toBeVisible()
    await page.getByRole('button', { name: 'Verify' }).click()
    await expect(page.getByText(/events, unchanged/)).toBeVisible()
    await isAccessible(page, 'all events and one of them')

    await page.getByRole('button', { name: 'Kind' }).click()
    await isAccessible(page, 'a menu')
    await page.keyboard.press('Escape')

    await page.keyboard.press(`${MOD_KEY}+k`)
    await expect(page.getByRole('dialog')).toBeVisible()
    await isAccessible(page, 'the palette')
    await page.keyboard.press('Escape')

    await page.setViewportSize({ width: 390, height: 780 })
    await page.goto(`${daemon.origin}/#/timeline`)
    await isLive(page)
    await isAccessible(page, 'a phone')
    await page.getByRole('button', { name: 'Projects' }).click()
    await isAccessible(page, 'the projects on a phone')
    await page.setViewportSize({ width: 1280, height: 800 })

    await daemon.kill()
    await expect(chip(page)).toHaveAttribute('data-connection', 'lost')
    await isAccessible(page, 'lost')
  })
}
