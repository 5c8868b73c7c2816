/** The ten promises of the runtime, each in a real browser with a real daemon, kernel and processes. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { roleText, trustRole, write } from './agent.ts'
import { drawer, expect, isLive, login, press, test, type Daemon, type Page } from './provost.ts'
import { bar, inside, isNow, look, marked, output, pane, screen, server, shows, terminalIs, terminalsOf, type, work, type Work } from './work.ts'

test('(1) run → the terminal shows output', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'run', 'terminal')
  await bar(page).getByRole('button', { name: 'Run', exact: true }).click()
  await isNow(page, 'running')
  // What the dev server prints has a place of its own, in color and without escape codes.
  await expect(output(page)).toContainText('ready at http://localhost:')
  await expect(output(page).getByText('ready', { exact: true })).toHaveCSS('color', /rgb/)
  // And what a person types beside it runs in the same project.
  await terminalIs(page, 'live')
  await type(page, 'echo in $(basename $PWD); ls\n')
  await shows(page, 'in app')
  await shows(page, /provost\.toml +server\.js/)
})

test('(2) reload → the same terminal, the same screen', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  await type(page, 'kept=yes; for n in 1 2 3; do printf "\\033[3${n}mline $n\\033[0m\\n"; done\n')
  await shows(page, 'line 3')
  const [before, { terminal }] = [await screen(page), await app.status()]
  await page.reload()
  await terminalIs(page, 'live')
  await expect.poll(() => screen(page)).toEqual(before)
  expect((await app.status()).terminal.pid).toBe(terminal.pid)
  await type(page, 'echo still $kept\n')
  await shows(page, 'still yes')
})

test('(3) reload → the preview still works', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'preview')
  await expect(page.getByRole('heading', { name: 'Not running' })).toBeVisible()
  await pane(page).or(page.locator('[data-preview]')).getByRole('button', { name: 'Run' }).click()
  await expect(inside(page).getByRole('heading')).toHaveText('Hello from the app')
  const pid = await inside(page).locator('#pid').textContent()
  await page.reload()
  await expect(inside(page).getByRole('heading')).toHaveText('Hello from the app')
  expect(await inside(page).locator('#pid').textContent()).toBe(pid)
  await page.getByLabel('Path of the page').fill('/other?x=1')
  await page.keyboard.press('Enter')
  await expect(inside(page).locator('#path')).toHaveText('/other?x=1')
})

test('(4) stop → the processes are dead when it returns', async ({ page, daemon }) => {
  const app = await server(daemon, 'family')
  await login(page, daemon)
  await look(page, daemon, app, 'run')
  await page.keyboard.press('Alt+r')
  await isNow(page, 'running')
  await expect.poll(async () => (await marked(app.marker)).length).toBeGreaterThanOrEqual(4)
  await bar(page).getByRole('button', { name: 'Stop', exact: true }).click()
  await isNow(page, 'stopped')
  // At once, not some time later.
  expect(await marked(app.marker)).toEqual([])
  await expect(bar(page)).not.toHaveAttribute('data-pending')
  await expect(page.getByRole('region', { name: 'Crash' })).toBeHidden()
})

test('(5) run again → a new, clean process', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'run')
  const button = (name: string) => page.getByRole('region', { name: 'Run' }).getByRole('button', { name, exact: true })
  await button('Run').click()
  await isNow(page, 'running')
  const first = await app.until(({ preview }) => preview.status === 'ready')
  await writeFile(join(app.folder, 'die'), '')
  await isNow(page, 'crashed')
  const crash = page.getByRole('region', { name: 'Crash' })
  await expect(crash).toContainText('exit code 3')
  await expect(crash).toContainText('something broke badly')
  await button('Run').click()
  await isNow(page, 'running')
  await expect(crash).toBeHidden()
  const second = await app.until(({ preview }) => preview.status === 'ready')
  expect(second.devServer.pid).not.toBe(first.devServer.pid)
  expect(second.devServer).toMatchObject({ exitCode: null, crash: null })
  await button('Restart').click()
  const third = await app.until(({ preview, devServer }) => preview.status === 'ready' && devServer.pid !== second.devServer.pid)
  await expect(page.getByText(`process ${String(third.devServer.pid)}`).first()).toBeVisible()
})

test('(6) no connecting loop: attaching answers at once or says why', async ({ page, daemon }) => {
  const app = await server(daemon)
  const sockets: string[] = []
  page.on('websocket', (socket) => sockets.push(socket.url()))
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  expect(sockets).toHaveLength(1)
  await type(page, 'exit 7\n')
  await terminalIs(page, 'ended')
  await expect(pane(page)).toContainText('The shell ended with exit code 7.')
  // Looking at it again shows how it ended, and opens nothing.
  await page.reload()
  await terminalIs(page, 'ended')
  await expect(pane(page)).toContainText('exit code 7')
  await shows(page, '$ exit 7')
  expect((await app.status()).terminal).toMatchObject({ status: 'exited', exitCode: 7 })
  expect(sockets).toHaveLength(2)
  await pane(page).getByRole('button', { name: 'Open again' }).click()
  await terminalIs(page, 'live')
  expect(sockets).toHaveLength(3)
  // Its kernel is gone: that is said, once.
  for (const pid of await daemon.kernels()) process.kill(pid, 'SIGKILL')
  await expect(bar(page).getByRole('button', { name: /Kernel lost/ })).toBeVisible({ timeout: 15_000 })
  await terminalIs(page, 'refused')
  await expect(pane(page)).toContainText('There is no terminal any more.')
  expect(sockets).toHaveLength(3)
  await pane(page).getByRole('button', { name: 'Open a new one' }).click()
  await terminalIs(page, 'live')
  expect(sockets).toHaveLength(4)
})

test('(7) an agent observes the real build and runtime events', async ({ page, daemon }) => {
  const app = await work(daemon, {
    'server.js': 'require("http").createServer((_, r) => r.end("hi")).listen(0, "127.0.0.1")',
    'provost.toml': '[runtime]\nbuild = "sh build.sh"\nbuild_first = true\ndev = "node server.js"\n',
    'build.sh': "echo 'src/a.c:3:7: error: no such thing'; exit 1\n",
    '.provost/roles/dev.md': roleText('dev', ['runtime.run', 'runtime.build', 'runtime.status']),
  })
  await trustRole(daemon, app.project, 'dev')
  const { token } = (await daemon.ask('POST', '/api/tokens', { class: 'agent', project: app.project, role: 'dev', label: 'test agent' })) as { readonly token: string }
  const ask = async (action: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> => {
    const response = await fetch(`${daemon.origin}/api/projects/${app.project}/actions?wait=30000`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ action, params: {} }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  await login(page, daemon)
  await look(page, daemon, app, 'run')

  const failing = ask('runtime.run')
  await press(page, /^Allow once/)
  // The page and the agent are told the same of the same build.
  expect((await failing).body).toMatchObject({ code: 'BUILD_FAILED' })
  const errors = page.getByRole('region', { name: 'Build errors' })
  await expect(errors).toContainText('src/a.c:3:7')
  await expect(errors).toContainText('no such thing')
  await write(app.folder, 'build.sh', 'echo built\n')
  const going = ask('runtime.run')
  await press(page, /^Allow once/)
  const { body } = await going
  expect(body).toMatchObject({ status: 'finished', result: { started: true } })
  await isNow(page, 'running')
  await expect(errors).toBeHidden()

  const { devServer, preview } = await app.until(({ preview }) => preview.status === 'ready')
  expect(devServer.action).toBe(body['actionId'])
  const seen = (await ask('runtime.status')).body['result'] as { readonly runtime: unknown }
  expect(seen.runtime).toMatchObject({ status: 'running', devServer: { pid: devServer.pid }, preview: { port: preview.port }, build: { status: 'succeeded' } })
  const kinds = ((await daemon.ask('GET', '/api/audit?limit=500')) as { readonly events: readonly { readonly kind: string }[] }).events.map(({ kind }) => kind)
  const told = kinds.filter((kind) => /^(?:BUILD|RUNTIME)_/.test(kind))
  expect(told).toEqual(['RUNTIME_STARTING', 'BUILD_STARTED', 'BUILD_FAILED', 'RUNTIME_CRASHED', 'RUNTIME_STARTING', 'BUILD_STARTED', 'BUILD_SUCCEEDED', 'RUNTIME_STARTED'])
  await expect(drawer(page)).toBeHidden()
})

test('(8) no PTY is created by anything but the kernel, and that creates one', async ({ page, context, daemon }) => {
  const app = await server(daemon)
  await app.act('run')
  await login(page, daemon)
  /** The terminals that the daemon has, its kernel, and what that has started. */
  const count = async (): Promise<readonly [number, number, number]> => {
    const kernel = (await app.status()).kernel.pid ?? 0
    const others = (await daemon.kernels()).filter((pid) => pid !== kernel)
    const started = await Promise.all([...others, ...(await marked(app.marker))].map(terminalsOf))
    return [await terminalsOf(daemon.pid), await terminalsOf(kernel), started.reduce((sum, n) => sum + n, 0)]
  }
  // Neither running the project nor looking at other pages opens one.
  await look(page, daemon, app, 'run')
  await isNow(page, 'running')
  await expect(output(page)).toContainText('ready')
  expect(await count()).toEqual([0, 0, 0])
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  const second = await context.newPage()
  await look(second, daemon, app, 'terminal')
  await terminalIs(second, 'live')
  await page.reload()
  await terminalIs(page, 'live')
  expect(await count()).toEqual([0, 1, 0])
  await type(page, 'exit\n')
  await terminalIs(page, 'ended')
  await pane(page).getByRole('button', { name: 'Open again' }).click()
  await terminalIs(page, 'live')
  await terminalIs(second, 'live')
  expect(await count()).toEqual([0, 1, 0])
  // What is started afterwards does not inherit it.
  await app.act('restart')
  expect(await count()).toEqual([0, 1, 0])
})

test('(9) the runtime survives a reload, and the daemon being killed', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'terminal', 'preview')
  await terminalIs(page, 'live')
  await type(page, 'kept=yes; echo here I am\n')
  await shows(page, 'here I am')
  await bar(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expect(inside(page).getByRole('heading')).toHaveText('Hello from the app')
  const [before, drawn] = [await app.status(), await screen(page)]
  await page.reload()
  await terminalIs(page, 'live')
  await expect(inside(page).getByRole('heading')).toHaveText('Hello from the app')

  await daemon.kill()
  await terminalIs(page, /lost|connecting/)
  await expect(pane(page)).toContainText('Lost the terminal')
  await expect(bar(page).getByRole('button', { name: /Kernel not heard/ })).toBeVisible()
  await expect.poll(() => screen(page), 'what was seen stays').toEqual(drawn)
  await daemon.restart()
  await isLive(page)
  await expect(bar(page).getByRole('button', { name: /Kernel answers/ })).toBeVisible()
  await terminalIs(page, 'live')
  await type(page, 'echo still $kept\n')
  await shows(page, 'still yes')
  const after = await app.status()
  expect([after.devServer.pid, after.terminal.pid, after.kernel.pid]).toEqual([before.devServer.pid, before.terminal.pid, before.kernel.pid])
  await page.getByRole('button', { name: 'Reload the preview' }).click()
  await expect(inside(page).getByRole('heading')).toHaveText('Hello from the app')
  await isNow(page, 'running')
})

/** What the page says: the header's state, and the facts. */
async function said(page: Page) {
  const facts = await page.getByRole('region', { name: 'Run' }).locator('dl').first().innerText()
  return {
    status: await bar(page).getAttribute('data-runtime'),
    pid: Number(/process (\d+)/.exec(facts.split('Kernel')[0] ?? '')?.[1] ?? 0),
    port: Number(/port (\d+)/.exec(facts)?.[1] ?? 0),
    crashed: await page.getByRole('region', { name: 'Crash' }).isVisible(),
  }
}

async function agrees(page: Page, app: Work, step: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const { status, devServer, preview, seq } = await app.status()
        const truth = { status, pid: devServer.pid ?? 0, port: preview.port ?? 0, crashed: devServer.crash !== null }
        const shown = await said(page)
        const same = JSON.stringify(truth) === JSON.stringify(shown)
        // Nothing has happened while we looked.
        return (same && (await app.status()).seq === seq) || JSON.stringify({ truth, shown })
      },
      { message: step, timeout: 15_000, intervals: [10, 30, 50, 100] },
    )
    .toBe(true)
}

test('(10) the state of the page equals that of the kernel at every step of a random walk', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'run')
  await agrees(page, app, 'at first')
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9))
  let state = seed
  const draw = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const crash = (): Promise<void> => writeFile(join(app.folder, 'die'), '')
  const steps: readonly (readonly [string, (daemon: Daemon) => Promise<unknown>])[] = [
    ['run', () => page.keyboard.press('Alt+r')],
    ['run or stop', () => page.keyboard.press('Alt+r')],
    ['run elsewhere', () => app.act('run').catch(() => undefined)],
    ['stop elsewhere', () => app.act('stop').catch(() => undefined)],
    ['restart', () => app.act('restart').catch(() => undefined)],
    ['crash', crash],
    ['reload', () => page.reload().then(() => isLive(page))],
    ['run and do not wait', () => Promise.resolve(void app.act('run').catch(() => undefined))],
    ['kill the daemon', (it) => it.kill().then(() => it.restart()).then(() => isLive(page))],
  ]
  const walked: string[] = []
  for (let n = 0; n < 24; n++) {
    const [name, step] = steps[draw(steps.length)] ?? ['none', () => Promise.resolve()]
    walked.push(name)
    await step(daemon)
    await agrees(page, app, `seed ${String(seed)}: ${walked.join(', ')}`)
  }
})

test('what is too long for the log is shown all the same: a crash and a build with many lines', async ({ page, daemon }) => {
  const app = await work(daemon, {
    'build.sh': 'for n in $(seq 1 90); do echo "src/part$n.c:$n:7: error: a message that is long enough to matter, number $n"; done; exit 1\n',
    'dev.sh': 'for n in $(seq 1 400); do echo "line $n of what it printed before it went down, one after the other"; done; exit 9\n',
    'provost.toml': '[runtime]\nbuild = "sh build.sh"\ndev = "sh dev.sh"\n',
  })
  await login(page, daemon)
  await look(page, daemon, app, 'run')
  await page.keyboard.press('Alt+b')
  const errors = page.getByRole('list', { name: 'What is wrong' }).getByRole('listitem')
  await expect(errors).toHaveCount(90)
  await expect(errors.last()).toContainText('src/part90.c:90:7')
  // The deed has ended, though the log only names its end.
  await expect(bar(page)).not.toHaveAttribute('data-pending')
  await page.keyboard.press('Alt+r')
  await isNow(page, 'crashed')
  const crash = page.getByRole('region', { name: 'Crash' })
  await expect(crash).toContainText('exit code 9')
  await expect(crash).toContainText('line 400 of what it printed')
  await expect(crash).toContainText('It does not come back by itself')
  // What it said last is in sight, here and where the page would be.
  const below = (lines: Element): number => lines.scrollHeight - lines.scrollTop - lines.clientHeight
  expect(await crash.getByLabel('Last lines').evaluate((lines) => lines.scrollTop)).toBeGreaterThan(0)
  expect(await crash.getByLabel('Last lines').evaluate(below)).toBeLessThan(2)
  await look(page, daemon, app, 'preview')
  expect(await page.getByLabel('Last lines').evaluate(below)).toBeLessThan(2)
  await look(page, daemon, app, 'run')
  await expect(bar(page)).not.toHaveAttribute('data-pending')
  await page.reload()
  await expect(crash).toContainText('line 400 of what it printed')
  await expect(output(page)).toContainText('line 400 of what it printed')
})

test('a kernel that does not answer is not called well', async ({ page, daemon }) => {
  const app = await server(daemon)
  await app.act('run')
  await login(page, daemon)
  await look(page, daemon, app, 'run')
  await expect(bar(page).getByRole('button', { name: /Kernel answers/ })).toBeVisible()
  await expect(page.getByText(/heartbeat (?:under )?\d+ ms/).first()).toBeVisible()
  const { pid } = (await app.status()).kernel
  if (pid === null) throw new Error('no kernel')
  process.kill(pid, 'SIGSTOP')
  try {
    await expect(bar(page).getByRole('button', { name: /Kernel does not answer/ })).toBeVisible({ timeout: 30_000 })
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await expect(bar(page).getByRole('button', { name: /Kernel answers/ })).toBeVisible({ timeout: 30_000 })
  await isNow(page, 'running')
})

test('what is run in one browser shows in the other, and a refusal is said where it was asked', async ({ browser, daemon }) => {
  const app = await work(daemon, {})
  const [one, two] = await Promise.all([browser.newPage(), browser.newPage()])
  await login(one, daemon)
  await login(two, daemon)
  await look(one, daemon, app, 'run')
  await look(two, daemon, app, 'run')
  await one.keyboard.press('Alt+r')
  await expect(one.getByRole('log', { name: 'Notices' })).toContainText('provost.toml')
  await expect(bar(one)).not.toHaveAttribute('data-pending')
  await write(app.folder, 'index.html', '<h1>hi</h1>')
  await one.keyboard.press('Alt+r')
  await isNow(two, 'running')
  await two.keyboard.press('Alt+r')
  await isNow(one, 'stopped')
  await one.context().close()
  await two.context().close()
})
