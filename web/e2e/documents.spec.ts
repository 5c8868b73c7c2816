/** The page shows the documents of the daemon, whatever happened to the log and to the connection. */
import { cp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { agent } from './agent.ts'
import { connectionChip, type Daemon, events, expect, expectLive, login, openProject, type Page, projects, seqs, test } from './daemon.ts'
import { documentsOf, readSnapshot } from './document-snapshot.ts'

/** What the page shows, and what a new client of the daemon is told. */
async function expectAgreement(page: Page, daemon: Daemon, walked: string): Promise<void> {
  await expect(async () => {
    const snapshot = await readSnapshot(daemon)
    const names = (status: string): readonly unknown[] =>
      documentsOf(snapshot, 'projects').filter((project) => project['status'] === status).map((project) => project['name']).sort()
    const pending = documentsOf(snapshot, 'approvals').filter((approval) => approval['status'] === 'pending').length
    const alpha = documentsOf(snapshot, 'projects').find((project) => project['name'] === 'alpha')?.['id']
    const mode = documentsOf(snapshot, 'modes').find((document) => document['project'] === alpha)?.['mode'] ?? 'sandbox'
    const { events: newest } = (await daemon.request('GET', `/api/events?text=${String(alpha)}&limit=1`)) as { readonly events: readonly { readonly seq: number }[] }
    const shown = {
      newest: Math.max(...(await seqs(page))),
      open: (await page.getByRole('list', { name: 'Open projects' }).getByRole('link').allInnerTexts()).map((text) => text.split('\n')[0]?.trim()).sort(),
      closed: (await page.getByText(/^Closed \d+$/).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')),
      approvals: await page.getByRole('button', { name: /pending approvals?$/ }).getAttribute('aria-label'),
      mode: (await page.getByRole('button', { name: /^Mode: / }).innerText()).split('\n').at(-1)?.trim().toLowerCase(),
    }
    const closed = names('closed').length
    expect(shown).toEqual({
      newest: newest[0]?.seq,
      open: names('open'),
      closed: closed === 0 ? [] : [`Closed ${String(closed)}`],
      approvals: pending === 0 ? 'No pending approvals' : pending === 1 ? '1 pending approval' : `${String(pending)} pending approvals`,
      mode,
    })
  }, walked).toPass({ timeout: 15_000 })
}

/** The documents that a start of the daemon does not change, as a new client gets them. */
async function readFold(daemon: Daemon): Promise<readonly unknown[]> {
  const views = ['projects', 'modes', 'approvals', 'grants', 'agentInput', 'sessions']
  const documents = (await readSnapshot(daemon)).filter(({ view }) => views.includes(view)).map(({ view, key, document }) => ({ view, key, document }))
  return documents.sort((a, b) => `${a.view} ${a.key}`.localeCompare(`${b.view} ${b.key}`))
}

test('what is shown is what the daemon folded, over any walk of commands, reloads, killed daemons, archives and restored backups', async ({ page, daemon }) => {
  test.setTimeout(300_000)
  const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)
  let state = seed
  const draw = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const { project, request } = await agent(daemon)
  const folders = await Promise.all(['beta', 'gamma'].map((name) => daemon.folder(name)))
  await login(page, daemon, '#/projects/alpha/timeline')
  const backUp = (): Promise<void> => daemon.restartAfter(async (data) => {
    await rm(`${data}-backup`, { recursive: true, force: true })
    await cp(data, `${data}-backup`, { recursive: true, filter: (path) => !path.includes('/kernels') })
  })
  await backUp()
  await expectLive(page)

  const pick = <T>(list: readonly T[]): T | undefined => list[draw(list.length)]
  type ProjectList = { readonly projects: readonly { readonly id: string; readonly name: string }[] }
  type ApprovalList = { readonly approvals: readonly { readonly id: string; readonly actionHash: string }[] }
  type Step = readonly [string, () => Promise<unknown>]
  const steps: readonly Step[] = [
    ['open', () => daemon.request('POST', '/api/projects', { path: pick(folders) })],
    ['close', async () => {
      const { projects: open } = (await daemon.request('GET', '/api/projects')) as ProjectList
      const other = pick(open.filter(({ name }) => name !== 'alpha'))
      if (other !== undefined) await daemon.request('DELETE', `/api/projects/${other.id}`)
    }],
    ['mode', () => daemon.request('PUT', `/api/projects/${project}/mode`, { mode: pick(['sandbox', 'auto']) })],
    ['request', () => request('fs.writeFile', { path: `f${String(draw(1_000_000))}`, content: 'x' }, 0)],
    ['answer', async () => {
      const { approvals } = (await daemon.request('GET', '/api/approvals')) as ApprovalList
      const approval = pick(approvals)
      if (approval !== undefined) await daemon.request('POST', `/api/approvals/${approval.id}`, { decision: 'deny', actionHash: approval.actionHash })
    }],
    ['reload', () => page.reload().then(() => expectLive(page))],
    ['kill', () => daemon.restart().then(() => expectLive(page))],
    ['request and kill', () => request('fs.writeFile', { path: `f${String(draw(1_000_000))}`, content: 'x' }, 0).then(() => daemon.restart()).then(() => expectLive(page))],
    ['archive', async () => {
      // Events are archived in blocks of 512.
      const fill = async (): Promise<void> => {
        for (let read = 0; read < 130; read++) await request('fs.stat', { path: '.' })
      }
      await Promise.all(Array.from({ length: 4 }, fill))
      expect(await daemon.run('log', 'archive', '--before', new Date().toISOString())).toContain('Archived')
    }],
    ['back up', () => backUp().then(() => expectLive(page))],
    ['restore', async () => {
      await daemon.stop()
      await daemon.restartAfter(async (data) => {
        await rm(data, { recursive: true })
        await cp(`${data}-backup`, data, { recursive: true })
      })
      await expectLive(page)
    }],
    ['rebuild', async () => {
      await daemon.restart()
      const before = await readFold(daemon)
      await daemon.restartAfter(async () => {
        await daemon.run('audit', 'rebuild')
        expect(await daemon.run('audit', 'verify')).toContain('The log is intact')
      })
      expect(await readFold(daemon)).toEqual(before)
      await expectLive(page)
    }],
  ]
  const any = (): readonly Step[] => steps.slice(draw(steps.length)).slice(0, 1)
  // Whatever else happens, each walk goes over an archive, a backup from before one, and a rebuild.
  const walk = ['archive', 'back up', 'archive', 'restore', 'rebuild'].flatMap((name) => [any(), any(), any(), any(), steps.filter(([step]) => step === name)].flat())
  const walked: string[] = []
  for (const [name, run] of walk) {
    walked.push(name)
    await run()
    await expectAgreement(page, daemon, `seed ${String(seed)}: ${walked.join(', ')}`)
  }
})

test('after an older backup was restored, the page shows that and not what was lost', async ({ page, daemon }) => {
  await daemon.request('POST', '/api/projects', { path: await daemon.folder('alpha') })
  await login(page, daemon, '#/timeline')
  await daemon.restartAfter((data) => cp(data, `${data}-backup`, { recursive: true, filter: (path) => !path.includes('/kernels') }))
  await expectLive(page)
  await daemon.request('POST', '/api/projects', { path: await daemon.folder('lost') })
  await expect(projects(page)).toHaveCount(2)
  await expect(events(page).filter({ hasText: 'lost opened' })).toHaveCount(1)

  await daemon.restartAfter(async (data) => {
    await rm(data, { recursive: true })
    await cp(`${data}-backup`, data, { recursive: true })
  })
  // The log goes on differently, and may be longer than the page has seen.
  for (const name of ['beta', 'gamma', 'delta']) await daemon.request('POST', '/api/projects', { path: await daemon.folder(name) })
  await expectLive(page)
  await expect(projects(page)).toHaveCount(4)
  await expect(projects(page).filter({ hasText: 'lost' })).toHaveCount(0)
  await expect(events(page).filter({ hasText: 'delta opened' })).toHaveCount(1)
  await expect(events(page).filter({ hasText: 'lost opened' })).toHaveCount(0)
})

test('a client that does not read slows no page', async ({ page, daemon }) => {
  const { id } = (await daemon.request('POST', '/api/projects', { path: await daemon.folder('alpha') })) as { readonly id: string }
  const { hostname, port } = new URL(daemon.origin)
  const token = await daemon.token()
  const idle = await Promise.all(Array.from({ length: 5 }, () => new Promise<ReturnType<typeof connect>>((done) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET /api/documents HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`)
      socket.pause()
      done(socket)
    })
  })))
  await login(page, daemon, '#/projects/alpha/timeline')
  for (let change = 0; change < 150; change++) await daemon.request('PUT', `/api/projects/${id}/mode`, { mode: change % 2 === 0 ? 'auto' : 'sandbox' })
  await daemon.request('PUT', `/api/projects/${id}/mode`, { mode: 'auto' })
  await expect(page.getByRole('button', { name: /^Mode: Auto/ })).toBeVisible({ timeout: 3_000 })
  await expect(connectionChip(page)).toHaveAttribute('data-connection', 'live')
  for (const socket of idle) socket.destroy()
})

test('many tabs are live at once, and each of them can send commands', async ({ page, daemon, context }) => {
  const { id } = (await daemon.request('POST', '/api/projects', { path: await daemon.folder('alpha') })) as { readonly id: string }
  await login(page, daemon, '#/projects/alpha/timeline')
  const tabs = [page]
  for (let tab = 0; tab < 7; tab++) tabs.push(await context.newPage())
  for (const tab of tabs.slice(1)) await tab.goto(`${daemon.origin}/#/projects/alpha/timeline`)
  for (const tab of tabs) await expectLive(tab)
  for (const [number, tab] of tabs.entries()) {
    await openProject(tab, await daemon.folder(`tab${String(number)}`))
    // The command is confirmed: the page goes to the new project.
    await expect(tab.getByRole('heading', { name: `tab${String(number)}`, level: 1 })).toBeVisible()
  }
  await daemon.request('PUT', `/api/projects/${id}/mode`, { mode: 'auto' })
  for (const tab of tabs) {
    await expect(projects(tab)).toHaveCount(9)
    await tab.goto(`${daemon.origin}/#/projects/alpha/timeline`)
    await expect(tab.getByRole('button', { name: /^Mode: Auto/ })).toBeVisible()
    await expect(connectionChip(tab)).toHaveAttribute('data-connection', 'live')
  }
})

test('opening the page costs little however long the log is, and the timeline reaches its beginning', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  const { request } = await agent(daemon)
  await login(page, daemon, '#/projects/alpha/timeline')
  const fill = async (): Promise<void> => {
    for (let read = 0; read < 250; read++) await request('fs.stat', { path: '.' })
  }
  await Promise.all(Array.from({ length: 12 }, fill))

  const client = await page.context().newCDPSession(page)
  await client.send('Network.enable')
  const assets = new Set<string>()
  let received = 0
  client.on('Network.requestWillBeSent', ({ requestId, request: { url } }) => {
    if (!new URL(url).pathname.startsWith('/api/')) assets.add(requestId)
  })
  client.on('Network.dataReceived', ({ requestId, dataLength }) => {
    if (!assets.has(requestId)) received += dataLength
  })
  await page.goto('about:blank')
  await page.goto(`${daemon.origin}/#/timeline`)
  await expectLive(page)
  await expect(events(page).first()).toBeVisible()
  expect(received).toBeLessThan(400_000)
  await client.send('HeapProfiler.enable')
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  expect(usedSize).toBeLessThan(40_000_000)

  const list = page.getByRole('listbox', { name: 'Events' })
  const newest = Math.max(...(await seqs(page)))
  expect(newest).toBeGreaterThan(3_000)
  // Scrolling moves the window over the log; what is far away is dropped.
  await expect(async () => {
    await list.evaluate((box) => (box.scrollTop = 0))
    expect(Math.min(...(await seqs(page)))).toBeLessThan(newest - 2_200)
  }).toPass({ timeout: 60_000, intervals: [20] })
  expect(Number(await events(page).first().getAttribute('aria-setsize'))).toBeLessThanOrEqual(2_000)
  await list.focus()
  await page.keyboard.press('Home')
  await expect.poll(() => seqs(page)).toContain(1)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Latest' }).click()
  await expect.poll(async () => Math.max(...(await seqs(page)))).toBeGreaterThanOrEqual(newest)
  await openProject(page, await daemon.folder('beta'))
  await page.getByRole('link', { name: 'All events', exact: true }).click()
  await expect(events(page).filter({ hasText: 'beta opened' })).toHaveCount(1)
})
