/** The preview: the page of a project on its own origin, or the reason why it is unavailable. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { write } from './agent.ts'
import { Daemon, expect, login, test } from './daemon.ts'
import { expectRuntime, openPage, openTestProject, previewFrame, runtimeControls, SERVER, serverProject, viteProject, viteWithApi, webpackProject } from './test-project.ts'

for (const { bundler, project, source } of [
  { bundler: 'Vite', project: viteProject, source: 'greeting.js' },
  { bundler: 'webpack', project: webpackProject, source: 'src/greeting.js' },
]) {
  test(`an edit shows in the preview of a real ${bundler} project without a reload`, async ({ page, daemon }) => {
    const app = await project(daemon)
    await login(page, daemon)
    await openPage(page, daemon, app, 'preview')
    await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
    await expect(previewFrame(page).locator('#greeting')).toHaveText('before', { timeout: 30_000 })
    // A reload would lose the input.
    await previewFrame(page).locator('#field').fill('typed')
    await write(app.folder, source, "export const greeting = 'after'\n")
    await expect(previewFrame(page).locator('#greeting')).toHaveText('after')
    await expect(previewFrame(page).locator('#field')).toHaveValue('typed')
  })
}

test('edits still show after Vite and after the daemon were restarted', async ({ page, daemon }) => {
  const app = await viteProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await app.send('run')
  const greeting = previewFrame(page).locator('#greeting')
  await expect(greeting).toHaveText('before', { timeout: 30_000 })
  const { pid } = (await app.status()).devServer
  for (const [begin, text] of [
    [() => write(app.folder, 'vite.config.js', 'export default { clearScreen: false }\n'), 'after its settings changed'],
    [() => daemon.restart(), 'after the daemon is back'],
  ] as const) {
    await previewFrame(page).locator('#field').fill('typed')
    await begin()
    // A page in a frame cannot detect by itself that the server is back.
    await expect(previewFrame(page).locator('#field')).toHaveValue('', { timeout: 15_000 })
    await expect(greeting).not.toBeEmpty()
    // Vite sends an edit only to the pages that are loaded, and this one may be loaded twice: by Vite's client and by Provost.
    await expect(async () => {
      await write(app.folder, 'greeting.js', `export const greeting = '${text}'\n`)
      await expect(greeting).toHaveText(text, { timeout: 1000 })
    }).toPass({ timeout: 15_000 })
  }
  expect((await app.status()).devServer.pid, 'the same process all the while').toBe(pid)
})

test('an error page of the server is shown', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {
    'server.js': `require('http').createServer((_, response) => response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>TypeError: it is broken</h1>')).listen(0, '127.0.0.1')`,
    'provost.toml': '[runtime]\ndev = "node server.js"\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await app.send('run')
  await expect(previewFrame(page).getByRole('heading')).toHaveText('TypeError: it is broken')
})

test('Vite proxies requests to the server of its project inside the sandbox', async ({ page, daemon }) => {
  const app = await viteWithApi(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expect(previewFrame(page).locator('#greeting')).toHaveText('the api says /api/hello', { timeout: 30_000 })
})

test('an unavailable preview shows why, and the page appears automatically', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {
    'server.js': `
      const { existsSync } = require('fs')
      const server = require('http').createServer((_, response) => response.end('<h1>there</h1>'))
      const wait = setInterval(() => existsSync('listen') && (clearInterval(wait), server.listen(0, '127.0.0.1')), 20)
      setInterval(() => existsSync('die') && (console.log('the last words'), process.exit(4)), 20)`,
    'provost.toml': '[runtime]\ndev = "node server.js"\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  const heading = page.locator('[data-preview]').getByRole('heading')
  await expect(heading).toHaveText('Not running')
  await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expect(heading).toHaveText('Waiting')
  await writeFile(join(app.folder, 'listen'), '')
  await expect(previewFrame(page).getByRole('heading')).toHaveText('there')
  await writeFile(join(app.folder, 'die'), '')
  await expect(page.locator('[data-preview]').getByRole('heading', { name: 'Crashed' })).toBeVisible()
  await expect(page.getByLabel('Last lines')).toContainText('the last words')
  await expect(page.locator('[data-preview]')).toContainText('exit code 4')
})

test('the waiting page of a preview in its own tab is replaced by the app', async ({ page, context, daemon }) => {
  const app = await serverProject(daemon)
  await app.send('run')
  await app.waitFor(({ preview }) => preview.status === 'ready')
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
  const [tab] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: 'Open in a tab' }).click()])
  await expect(tab.getByRole('heading')).toHaveText('Hello from the app')
  expect(await tab.evaluate(() => window.opener)).toBeNull()
  await app.send('stop')
  await tab.reload()
  await expect(tab.getByRole('heading')).toHaveText('Not running')
  await app.send('run')
  await expect(tab.getByRole('heading')).toHaveText('Hello from the app', { timeout: 15_000 })
})

test('the port and the width can be chosen', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {
    'server.js': `
      const http = require('http')
      const say = (text) => http.createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>' + text + '</h1><p id=w></p><script>setInterval(() => (w.textContent = innerWidth), 20)</script>'))
      const main = say('main').listen(0, '127.0.0.1', () => console.log('http://localhost:' + main.address().port + '/'))
      say('other').listen(0, '127.0.0.1')`,
    'provost.toml': '[runtime]\ndev = "node server.js"\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await app.send('run')
  const { preview } = await app.waitFor(({ preview }) => preview.status === 'ready' && preview.ports.length === 2)
  await expect(previewFrame(page).getByRole('heading')).toHaveText('main')
  const other = preview.ports.find(({ port }) => port !== preview.port)?.port ?? 0
  await page.getByLabel('Port').selectOption(String(other))
  await expect(previewFrame(page).getByRole('heading')).toHaveText('other')
  await expect(page.locator('[data-preview]')).toContainText(`http://${String(other)}--app.localhost:`)
  await page.getByLabel('Width').selectOption('phone')
  await page.getByRole('button', { name: 'Reload the preview' }).click()
  await expect(previewFrame(page).locator('#w')).toHaveText('390')
  await page.getByLabel('Path of the page').fill('http://evil.example/')
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('Path of the page')).toHaveAttribute('aria-invalid', 'true')
})

test('a page in the preview can neither read nor control Provost', async ({ page, context, daemon }) => {
  const app = await openTestProject(daemon, {
    'index.html': '<!doctype html><title>hostile</title><h1>hostile</h1>',
    'provost.toml': '[runtime]\nstatic = "."\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await app.send('run')
  await expect(previewFrame(page).getByRole('heading')).toHaveText('hostile')
  const frame = page.frames().find((one) => one.url().includes('.localhost:'))
  if (frame === undefined) throw new Error('no frame')
  const here = page.url()
  const result = await frame.evaluate(
    async ([target, project]) => {
      const attempt = async (path: string, init: RequestInit = {}): Promise<string> => {
        try {
          const response = await fetch(target + path, { credentials: 'include', ...init })
          return response.type === 'opaque' ? 'opaque' : `read ${String(response.status)}`
        } catch {
          return 'failed'
        }
      }
      const socket = (more: string): Promise<string> =>
        new Promise((done) => {
          const ws = new WebSocket(`${target.replace('http', 'ws')}/api/projects/${project}/terminal/attach?cols=80&rows=24${more}`)
          ws.onopen = () => done('read')
          ws.onerror = () => done('failed')
        })
      const touch = (operation: () => unknown): string => {
        try {
          return `read ${String(operation())}`
        } catch {
          return 'failed'
        }
      }
      return {
        read: await attempt('/api/projects'),
        events: await attempt('/api/events?after=0'),
        documents: await attempt('/api/documents'),
        run: await attempt(`/api/projects/${project}/runtime/stop`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
        blind: await attempt(`/api/projects/${project}/runtime/stop`, { method: 'POST', body: '{}', mode: 'no-cors' }),
        mode: await attempt(`/api/projects/${project}/mode`, { method: 'PUT', body: '{"mode":"full","minutes":60}', headers: { 'content-type': 'application/json' } }),
        own: await fetch('/api/projects').then((response) => `${String(response.status)}`),
        socket: await socket(''),
        parent: touch(() => window.parent.document.title),
        storage: touch(() => window.parent.localStorage.length),
        top: touch(() => {
          ;(window.top as Window).location.href = 'http://127.0.0.1:1/'
          return 'went'
        }),
        cookies: document.cookie,
      }
    },
    [daemon.origin, app.project] as const,
  )
  expect(result).toEqual({ read: 'failed', events: 'failed', documents: 'failed', run: 'failed', blind: 'failed', mode: 'failed', own: '404', socket: 'failed', parent: 'failed', storage: 'failed', top: 'failed', cookies: '' })
  expect(page.url()).toBe(here)
  await expectRuntime(page, 'running')
  expect(await daemon.request('GET', `/api/projects/${app.project}/mode`)).toMatchObject({ mode: 'sandbox' })

  // The UI cannot be framed, and frames no other origin.
  const framed = await frame.evaluate(
    (target) =>
      new Promise<string>((done) => {
        const victim = document.createElement('iframe')
        victim.src = target
        victim.onload = () => done('loaded')
        document.body.append(victim)
      }),
    daemon.origin,
  )
  expect(framed).toBe('loaded')
  await expect.poll(() => page.frames().map((one) => one.url()).filter((url) => url.startsWith('chrome-error:')).length).toBe(1)
  const blocked = await page.evaluate(
    () =>
      new Promise<string>((done) => {
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => done(effectiveDirective), { once: true })
        const other = document.createElement('iframe')
        other.src = 'http://127.0.0.1:1/'
        document.body.append(other)
      }),
  )
  expect(blocked).toBe('frame-src')
  expect(context.pages()).toHaveLength(1)
})

test('a browser without a login cannot see a preview', async ({ page, browser, daemon }) => {
  const app = await serverProject(daemon)
  await app.send('run')
  await app.waitFor(({ preview }) => preview.status === 'ready')
  await login(page, daemon)
  const stranger = await browser.newPage()
  await stranger.goto(`http://app.localhost:${new URL(daemon.origin).port}/`)
  await expect(stranger.getByRole('heading')).toHaveText('Not open to this browser')
  await stranger.close()
})

test('previews on a second port work without .localhost names', async ({ page }) => {
  const daemon = await Daemon.start('--preview-port', '0')
  try {
    const app = await serverProject(daemon)
    await login(page, daemon)
    await openPage(page, daemon, app, 'preview')
    await app.send('run')
    await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
    const frame = page.frames().find((one) => one !== page.mainFrame())
    expect(new URL(frame?.url() ?? '').hostname).toBe('127.0.0.1')
    expect(new URL(frame?.url() ?? '').origin).not.toBe(daemon.origin)
    // The port is not part of a site, so cookies are sent; the daemon checks more than cookies.
    const result = await frame?.evaluate(
      async (target) => fetch(`${target}/api/projects`, { credentials: 'include' }).then((response) => response.status, () => 'failed'),
      daemon.origin,
    )
    expect(result).toBe('failed')
  } finally {
    await daemon.end()
  }
})

test('with separate ports, a page of one project cannot read another project', async ({ page, context }) => {
  const daemon = await Daemon.start('--preview-port', '0')
  try {
    const files = (name: string) => ({ 'server.js': SERVER, 'provost.toml': `[runtime]\ndev = "node server.js ${name}"\n` })
    const [alpha, beta] = [await openTestProject(daemon, files('alpha'), 'alpha'), await openTestProject(daemon, files('beta'), 'beta')]
    const urls: string[] = []
    for (const { send, waitFor, project } of [alpha, beta]) {
      await send('run')
      await waitFor(({ preview }) => preview.status === 'ready')
      const { url } = (await daemon.request('GET', `/api/projects/${project}/preview/url`)) as { readonly url: string }
      urls.push(url)
    }
    const [first = '', second = ''] = urls
    await page.goto(first)
    await page.evaluate(() => localStorage.setItem('secret', 'of alpha'))
    const other = await context.newPage()
    await other.goto(second)
    await expect(other.getByRole('heading')).toHaveText('Hello from the app')
    expect(new URL(other.url()).origin).not.toBe(new URL(page.url()).origin)
    expect(await other.evaluate(() => localStorage.length)).toBe(0)
    const result = await other.evaluate(
      async (target) => {
        const attempt = (init: RequestInit) => fetch(target, { credentials: 'include', ...init }).then((response) => `${response.type} ${String(response.status)}`, () => 'failed')
        return [await attempt({}), await attempt({ method: 'POST', body: 'x' })]
      },
      new URL('/', page.url()).href,
    )
    expect(result).toEqual(['failed', 'failed'])
    await page.reload()
    await expect(page.getByRole('heading'), 'the cookie of the one is not taken by the other').toHaveText('Hello from the app')
  } finally {
    await daemon.end()
  }
})
