/** The ten promises of the runtime, each in a real browser with a real daemon, kernel and processes. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { roleText, trustRole, write } from './agent.ts'
import { clickAnswer, type Daemon, drawer, expect, expectLive, login, type Page, test } from './daemon.ts'
import { countPtys, countTerminalsBelow, expectLine, expectRuntime, expectTerminal, openPage, openTestProject, output, previewFrame, processesWith, runtimeControls, screenLines, serverProject, terminalPane, type TestProject, typeInTerminal } from './test-project.ts'

test('(1) run → the terminal shows output', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'run', 'terminal')
  await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expectRuntime(page, 'running')
  // The output of the dev server is shown in color and without escape codes.
  await expect(output(page)).toContainText('ready at http://localhost:')
  await expect(output(page).getByText('ready', { exact: true })).toHaveCSS('color', /rgb/)
  // The terminal beside it runs in the same project.
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'echo in $(basename $PWD); ls\n')
  await expectLine(page, 'in app')
  await expectLine(page, /provost\.toml +server\.js/)
})

test('(2) reload → the same terminal, the same screen', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'kept=yes; for n in 1 2 3; do printf "\\033[3${n}mline $n\\033[0m\\n"; done\n')
  await expectLine(page, 'line 3')
  const [before, { terminal }] = [await screenLines(page), await app.status()]
  await page.reload()
  await expectTerminal(page, 'live')
  await expect.poll(() => screenLines(page)).toEqual(before)
  expect((await app.status()).terminal.pid).toBe(terminal.pid)
  await typeInTerminal(page, 'echo still $kept\n')
  await expectLine(page, 'still yes')
})

test('(3) reload → the preview still works', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'preview')
  await expect(page.getByRole('heading', { name: 'Not running' })).toBeVisible()
  await terminalPane(page).or(page.locator('[data-preview]')).getByRole('button', { name: 'Run' }).click()
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
  const pid = await previewFrame(page).locator('#pid').textContent()
  await page.reload()
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
  expect(await previewFrame(page).locator('#pid').textContent()).toBe(pid)
  await page.getByLabel('Path of the page').fill('/other?x=1')
  await page.keyboard.press('Enter')
  await expect(previewFrame(page).locator('#path')).toHaveText('/other?x=1')
})

test('(4) stop → the processes are dead when it returns', async ({ page, daemon }) => {
  const app = await serverProject(daemon, 'family')
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')
  await page.keyboard.press('Alt+r')
  await expectRuntime(page, 'running')
  await expect.poll(async () => (await processesWith(app.marker)).length).toBeGreaterThanOrEqual(4)
  await runtimeControls(page).getByRole('button', { name: 'Stop', exact: true }).click()
  await expectRuntime(page, 'stopped')
  // At once, without waiting.
  expect(await processesWith(app.marker)).toEqual([])
  await expect(runtimeControls(page)).not.toHaveAttribute('data-pending')
  await expect(page.getByRole('region', { name: 'Crash' })).toBeHidden()
})

test('(5) run again → a new, clean process', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')
  const button = (name: string) => page.getByRole('region', { name: 'Run' }).getByRole('button', { name, exact: true })
  await button('Run').click()
  await expectRuntime(page, 'running')
  const first = await app.waitFor(({ preview }) => preview.status === 'ready')
  await writeFile(join(app.folder, 'die'), '')
  await expectRuntime(page, 'crashed')
  const crash = page.getByRole('region', { name: 'Crash' })
  await expect(crash).toContainText('exit code 3')
  await expect(crash).toContainText('something broke badly')
  await button('Run').click()
  await expectRuntime(page, 'running')
  await expect(crash).toBeHidden()
  const second = await app.waitFor(({ preview }) => preview.status === 'ready')
  expect(second.devServer.pid).not.toBe(first.devServer.pid)
  expect(second.devServer).toMatchObject({ exitCode: null, crash: null })
  await button('Restart').click()
  const third = await app.waitFor(({ preview, devServer }) => preview.status === 'ready' && devServer.pid !== second.devServer.pid)
  await expect(page.getByText(`process ${String(third.devServer.pid)}`).first()).toBeVisible()
})

test('(6) no connecting loop: attaching answers at once or says why', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  const sockets: string[] = []
  page.on('websocket', (socket) => sockets.push(socket.url()))
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  expect(sockets).toHaveLength(1)
  await typeInTerminal(page, 'exit 7\n')
  await expectTerminal(page, 'ended')
  await expect(terminalPane(page)).toContainText('The shell ended with exit code 7.')
  // A reload shows the exit code and opens no new shell.
  await page.reload()
  await expectTerminal(page, 'ended')
  await expect(terminalPane(page)).toContainText('exit code 7')
  await expectLine(page, '$ exit 7')
  expect((await app.status()).terminal).toMatchObject({ status: 'exited', exitCode: 7 })
  expect(sockets).toHaveLength(2)
  await terminalPane(page).getByRole('button', { name: 'Open again' }).click()
  await expectTerminal(page, 'live')
  expect(sockets).toHaveLength(3)
  // A lost kernel is reported, without a reconnect loop.
  for (const pid of await daemon.kernels()) process.kill(pid, 'SIGKILL')
  await expect(runtimeControls(page).getByRole('button', { name: /Kernel lost/ })).toBeVisible({ timeout: 15_000 })
  await expectTerminal(page, 'refused')
  await expect(terminalPane(page)).toContainText('The terminal no longer exists.')
  expect(sockets).toHaveLength(3)
  await terminalPane(page).getByRole('button', { name: 'Open a new terminal' }).click()
  await expectTerminal(page, 'live')
  expect(sockets).toHaveLength(4)
})

test('(7) an agent observes the real build and runtime events', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {
    'server.js': 'require("http").createServer((_, r) => r.end("hi")).listen(0, "127.0.0.1")',
    'provost.toml': '[runtime]\nbuild = "sh build.sh"\nbuild_first = true\ndev = "node server.js"\n',
    'build.sh': "echo 'src/a.c:3:7: error: no such thing'; exit 1\n",
    '.provost/roles/dev.md': roleText('dev', ['runtime.run', 'runtime.build', 'runtime.status']),
  })
  await trustRole(daemon, app.project, 'dev')
  const { token } = (await daemon.request('POST', '/api/tokens', { class: 'agent', project: app.project, role: 'dev', label: 'test agent' })) as { readonly token: string }
  const requestAction = async (action: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> => {
    const response = await fetch(`${daemon.origin}/api/projects/${app.project}/actions?wait=30000`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ action, params: {} }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')

  const failing = requestAction('runtime.run')
  await clickAnswer(page, /^Allow once/)
  // The page and the agent see the same build result.
  expect((await failing).body).toMatchObject({ code: 'BUILD_FAILED' })
  const errors = page.getByRole('region', { name: 'Build errors' })
  await expect(errors).toContainText('src/a.c:3:7')
  await expect(errors).toContainText('no such thing')
  await write(app.folder, 'build.sh', 'echo built\n')
  const going = requestAction('runtime.run')
  await clickAnswer(page, /^Allow once/)
  const { body } = await going
  expect(body).toMatchObject({ status: 'finished', result: { started: true } })
  await expectRuntime(page, 'running')
  await expect(errors).toBeHidden()

  const { devServer, preview } = await app.waitFor(({ preview }) => preview.status === 'ready')
  expect(devServer.action).toBe(body['actionId'])
  const seen = (await requestAction('runtime.status')).body['result'] as { readonly runtime: unknown }
  expect(seen.runtime).toMatchObject({ status: 'running', devServer: { pid: devServer.pid }, preview: { port: preview.port }, build: { status: 'succeeded' } })
  const kinds = ((await daemon.request('GET', '/api/audit?limit=500')) as { readonly events: readonly { readonly kind: string }[] }).events.map(({ kind }) => kind)
  const told = kinds.filter((kind) => /^(?:BUILD|RUNTIME)_/.test(kind))
  expect(told).toEqual(['RUNTIME_STARTING', 'BUILD_STARTED', 'BUILD_FAILED', 'RUNTIME_CRASHED', 'RUNTIME_STARTING', 'BUILD_STARTED', 'BUILD_SUCCEEDED', 'RUNTIME_STARTED'])
  await expect(drawer(page)).toBeHidden()
})

test('(8) no PTY is created by anything but the kernel, and that creates one', async ({ page, context, daemon }) => {
  const app = await serverProject(daemon)
  await app.send('run')
  await login(page, daemon)
  /** The PTYs of the daemon, of its kernel, and of the processes that it started. */
  const count = async (): Promise<readonly [number, number, number]> => {
    const kernel = (await app.status()).kernel.pid ?? 0
    const others = [...(await daemon.processes()).keys()].filter((pid) => pid !== kernel)
    const started = await Promise.all([...others, ...(await processesWith(app.marker))].map(countPtys))
    // Only root can inspect a daemon and a kernel.
    const countHeld = process.getuid?.() === 0 ? countPtys : countTerminalsBelow
    return [await countHeld(daemon.pid), await countHeld(kernel), started.reduce((sum, n) => sum + n, 0)]
  }
  // Neither running the project nor opening other pages creates a PTY.
  await openPage(page, daemon, app, 'run')
  await expectRuntime(page, 'running')
  await expect(output(page)).toContainText('ready')
  expect(await count()).toEqual([0, 0, 0])
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  const second = await context.newPage()
  await openPage(second, daemon, app, 'terminal')
  await expectTerminal(second, 'live')
  await page.reload()
  await expectTerminal(page, 'live')
  expect(await count()).toEqual([0, 1, 0])
  await typeInTerminal(page, 'exit\n')
  await expectTerminal(page, 'ended')
  await terminalPane(page).getByRole('button', { name: 'Open again' }).click()
  await expectTerminal(page, 'live')
  await expectTerminal(second, 'live')
  expect(await count()).toEqual([0, 1, 0])
  // Processes that are started later do not inherit it.
  await app.send('restart')
  expect(await count()).toEqual([0, 1, 0])
})

test('(9) the runtime survives a reload, and the daemon being killed', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal', 'preview')
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'kept=yes; echo here I am\n')
  await expectLine(page, 'here I am')
  await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
  const [before, drawn] = [await app.status(), await screenLines(page)]
  await page.reload()
  await expectTerminal(page, 'live')
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')

  await daemon.kill()
  await expectTerminal(page, /lost|connecting/)
  await expect(terminalPane(page)).toContainText('Disconnected from the terminal')
  await expect(runtimeControls(page).getByRole('button', { name: /Kernel state unknown/ })).toBeVisible()
  await expect.poll(() => screenLines(page), 'what was seen stays').toEqual(drawn)
  await daemon.restart()
  await expectLive(page)
  await expect(runtimeControls(page).getByRole('button', { name: /Kernel responding/ })).toBeVisible()
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'echo still $kept\n')
  await expectLine(page, 'still yes')
  const after = await app.status()
  expect([after.devServer.pid, after.terminal.pid, after.kernel.pid]).toEqual([before.devServer.pid, before.terminal.pid, before.kernel.pid])
  await page.getByRole('button', { name: 'Reload the preview' }).click()
  await expect(previewFrame(page).getByRole('heading')).toHaveText('Hello from the app')
  await expectRuntime(page, 'running')
})

/** The runtime state as the page shows it. */
async function shownState(page: Page) {
  const facts = await page.getByRole('region', { name: 'Run' }).locator('dl').first().innerText()
  return {
    status: await runtimeControls(page).getAttribute('data-runtime'),
    pid: Number(/process (\d+)/.exec(facts.split('Kernel')[0] ?? '')?.[1] ?? 0),
    port: Number(/port (\d+)/.exec(facts)?.[1] ?? 0),
    crashed: await page.getByRole('region', { name: 'Crash' }).isVisible(),
  }
}

async function expectAgreement(page: Page, app: TestProject, step: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const { status, devServer, preview, seq } = await app.status()
        const truth = { status, pid: devServer.pid ?? 0, port: preview.port ?? 0, crashed: devServer.crash !== null }
        const shown = await shownState(page)
        const same = JSON.stringify(truth) === JSON.stringify(shown)
        // No event happened between the two reads.
        return (same && (await app.status()).seq === seq) || JSON.stringify({ truth, shown })
      },
      { message: step, timeout: 15_000, intervals: [10, 30, 50, 100] },
    )
    .toBe(true)
}

test('(10) the state of the page equals that of the kernel at every step of a random walk', async ({ page, daemon }) => {
  test.setTimeout(180_000)
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')
  await expectAgreement(page, app, 'at first')
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
    ['run elsewhere', () => app.send('run').catch(() => undefined)],
    ['stop elsewhere', () => app.send('stop').catch(() => undefined)],
    ['restart', () => app.send('restart').catch(() => undefined)],
    ['crash', crash],
    ['reload', () => page.reload().then(() => expectLive(page))],
    ['run and do not wait', () => Promise.resolve(void app.send('run').catch(() => undefined))],
    ['kill the daemon', (it) => it.kill().then(() => it.restart()).then(() => expectLive(page))],
  ]
  const walked: string[] = []
  for (let n = 0; n < 24; n++) {
    const [name, step] = steps[draw(steps.length)] ?? ['none', () => Promise.resolve()]
    walked.push(name)
    await step(daemon)
    await expectAgreement(page, app, `seed ${String(seed)}: ${walked.join(', ')}`)
  }
})

test('truncated events are shown in full: a crash and a build with many lines', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {
    'build.sh': 'for n in $(seq 1 90); do echo "src/part$n.c:$n:7: error: a message that is long enough to matter, number $n"; done; exit 1\n',
    'dev.sh': 'for n in $(seq 1 400); do echo "line $n of what it printed before it went down, one after the other"; done; exit 9\n',
    'provost.toml': '[runtime]\nbuild = "sh build.sh"\ndev = "sh dev.sh"\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')
  await page.keyboard.press('Alt+b')
  const errors = page.getByRole('list', { name: 'Diagnostics' }).getByRole('listitem')
  await expect(errors).toHaveCount(90)
  await expect(errors.last()).toContainText('src/part90.c:90:7')
  // The command has ended, though its event is truncated.
  await expect(runtimeControls(page)).not.toHaveAttribute('data-pending')
  await page.keyboard.press('Alt+r')
  await expectRuntime(page, 'crashed')
  const crash = page.getByRole('region', { name: 'Crash' })
  await expect(crash).toContainText('exit code 9')
  await expect(crash).toContainText('line 400 of what it printed')
  await expect(crash).toContainText('Not restarted automatically')
  // The last lines are visible, here and on the preview page.
  const below = (lines: Element): number => lines.scrollHeight - lines.scrollTop - lines.clientHeight
  expect(await crash.getByLabel('Last lines').evaluate((lines) => lines.scrollTop)).toBeGreaterThan(0)
  expect(await crash.getByLabel('Last lines').evaluate(below)).toBeLessThan(2)
  await openPage(page, daemon, app, 'preview')
  expect(await page.getByLabel('Last lines').evaluate(below)).toBeLessThan(2)
  await openPage(page, daemon, app, 'run')
  await expect(runtimeControls(page)).not.toHaveAttribute('data-pending')
  await page.reload()
  await expect(crash).toContainText('line 400 of what it printed')
  await expect(output(page)).toContainText('line 400 of what it printed')
})

test('an unresponsive kernel is shown as such', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await app.send('run')
  await login(page, daemon)
  await openPage(page, daemon, app, 'run')
  await expect(runtimeControls(page).getByRole('button', { name: /Kernel responding/ })).toBeVisible()
  await expect(page.getByText(/heartbeat (?:under )?\d+ ms/).first()).toBeVisible()
  const { pid } = (await app.status()).kernel
  if (pid === null) throw new Error('no kernel')
  process.kill(pid, 'SIGSTOP')
  try {
    await expect(runtimeControls(page).getByRole('button', { name: /Kernel not responding/ })).toBeVisible({ timeout: 30_000 })
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await expect(runtimeControls(page).getByRole('button', { name: /Kernel responding/ })).toBeVisible({ timeout: 30_000 })
  await expectRuntime(page, 'running')
})

test('a run in one browser shows in the other, and an error shows where the command was given', async ({ browser, daemon }) => {
  const app = await openTestProject(daemon, {})
  const [one, two] = await Promise.all([browser.newPage(), browser.newPage()])
  await login(one, daemon)
  await login(two, daemon)
  await openPage(one, daemon, app, 'run')
  await openPage(two, daemon, app, 'run')
  await one.keyboard.press('Alt+r')
  await expect(one.getByRole('log', { name: 'Notices' })).toContainText('provost.toml')
  await expect(runtimeControls(one)).not.toHaveAttribute('data-pending')
  await write(app.folder, 'index.html', '<h1>hi</h1>')
  await one.keyboard.press('Alt+r')
  await expectRuntime(two, 'running')
  await two.keyboard.press('Alt+r')
  await expectRuntime(one, 'stopped')
  await one.context().close()
  await two.context().close()
})
