/** A login has two halves, and neither is enough alone. */
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectionChip, type Daemon, expect, expectLive, login, openProject, projects, test } from './daemon.ts'

/** A server on another port of this machine that records every cookie it receives. */
async function collector(): Promise<{ readonly server: Server; readonly url: string; readonly cookies: string[] }> {
  const cookies: string[] = []
  const server = createServer(({ headers }, response) => {
    if (headers.cookie !== undefined) cookies.push(headers.cookie)
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title><h1>An app</h1>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, cookies }
}

/** Sends a request with forged headers and returns the status of the response. */
async function replay(daemon: Daemon, method: string, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const forged = { origin: daemon.origin, host: new URL(daemon.origin).host, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const answer = await new Promise<IncomingMessage>((done, failed) => {
    const asked = request(`${daemon.origin}${path}`, { method, headers: { ...forged, ...headers } }, done)
    asked.on('upgrade', (message: IncomingMessage) => done(message))
    asked.on('error', failed)
    asked.end(method === 'GET' ? undefined : '{}')
  })
  answer.destroy()
  return answer.statusCode
}

const SOCKET = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }

test('a server on another port gets the cookie, and cannot use it', async ({ page, context, daemon }) => {
  await login(page, daemon)
  await openProject(page, await daemon.folder('alpha'))
  await expect(projects(page)).toHaveCount(1)
  const { server, url, cookies } = await collector()
  try {
    const other = await context.newPage()
    await other.goto(url)
    const kept = await other.evaluate(() => ({ storage: Object.keys(localStorage), cookies: document.cookie }))
    expect(kept).toEqual({ storage: [], cookies: '' })
    const port = new URL(daemon.origin).port
    const cookie = cookies.find((each) => each.includes(`provost_${port}=`)) ?? ''
    expect(cookie, 'browsers do send it: else this test shows nothing').not.toBe('')
    const value = new RegExp(`provost_${port}=([^;]+)`).exec(cookie)?.[1] ?? ''
    for (const [method, path, more] of [
      ['GET', '/api/projects', {}],
      ['GET', '/api/events?after=0', { accept: 'text/event-stream' }],
      ['GET', '/api/documents', { accept: 'text/event-stream' }],
      ['GET', '/api/audit', {}],
      ['GET', '/api/openapi.json', {}],
      ['GET', '/metrics', {}],
      ['GET', '/v1/models', {}],
      ['POST', '/api/login-links', {}],
      ['POST', '/api/tokens', {}],
      ['POST', '/api/projects/alpha/runtime/run', {}],
      ['POST', '/api/projects/alpha/terminal/ticket', {}],
      ['GET', '/api/projects/alpha/terminal/attach?cols=80&rows=24', SOCKET],
    ] as const) {
      const halves = [{ cookie }, { cookie, 'provost-page': value }, { authorization: `Bearer ${value}` }]
      for (const half of halves) {
        expect(await replay(daemon, method, path, { ...more, ...half }), `${method} ${path} ${Object.keys(half).join()}`).toBe(401)
      }
    }
    await other.goto(`${daemon.origin}/#page=provost_page_made_up`)
    await expectLive(other)
    await expect(projects(page)).toHaveCount(1)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a login link leads to its project, and a used one to a page that says what to do', async ({ page, context, daemon }) => {
  const { slug } = (await daemon.request('POST', '/api/projects', { path: await daemon.folder('alpha') })) as { readonly slug: string }
  const { path } = (await daemon.request('POST', `/api/login-links?project=${slug}`, {})) as { readonly path: string }
  await page.goto(`${daemon.origin}${path}`)
  await expectLive(page)
  await expect(page).toHaveURL(`${daemon.origin}/#/projects/alpha/timeline`)
  await expect(page).toHaveTitle(/^alpha · Provost/)

  const used = await context.newPage()
  expect((await used.goto(`${daemon.origin}${path}`))?.status()).toBe(401)
  await expect(used.getByRole('heading', { name: 'This login link does not work any more' })).toBeVisible()
  await expect(used.getByText('provost up')).toBeVisible()
  await used.getByRole('link', { name: 'Open Provost' }).click()
  await expectLive(used)
  expect((await used.goto(`${daemon.origin}/nowhere`))?.status()).toBe(404)
  await expect(used.getByRole('heading', { name: 'Page not found' })).toBeVisible()
})

test('a login works in two tabs and after a reload, and the page token is in no address', async ({ page, context, daemon }) => {
  await login(page, daemon)
  expect(await page.evaluate(() => location.href)).not.toContain('page=')
  expect(await page.evaluate(() => history.length), 'the history leads back to no half').toBeLessThanOrEqual(2)
  const second = await context.newPage()
  await second.goto(daemon.origin)
  await expectLive(second)
  await page.reload()
  await expectLive(page)
  await openProject(second, await daemon.folder('beta'))
  await expect(projects(page)).toHaveCount(1)
  // A second login in the same browser replaces the first in all tabs.
  await second.goto(await daemon.loginLink())
  await expectLive(second)
  await page.reload()
  await expectLive(page)
  await openProject(page, await daemon.folder('gamma'))
  await expect(projects(second)).toHaveCount(2)
})

test('a revoked login ends in every tab, and a new one restores them', async ({ page, context, daemon }) => {
  await login(page, daemon)
  const second = await context.newPage()
  await second.goto(daemon.origin)
  await expectLive(second)
  const { tokens } = (await daemon.request('GET', '/api/tokens')) as { readonly tokens: readonly { readonly id: string }[] }
  for (const { id } of tokens) await daemon.request('DELETE', `/api/tokens/${id}`)
  for (const tab of [page, second]) {
    await expect(tab.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
    await expect(tab.getByText('provost up', { exact: true })).toBeVisible()
  }
  await login(second, daemon)
  await page.getByRole('button', { name: 'Check again' }).click()
  await expectLive(page)
})

test('a browser with only the cookie is logged out', async ({ page, daemon }) => {
  await login(page, daemon)
  await page.evaluate(() => localStorage.clear())
  await page.reload()
  await expect(page.getByRole('heading', { name: 'This browser is logged out' })).toBeVisible()
  await expect(connectionChip(page)).toHaveCount(0)
  await login(page, daemon)
})
