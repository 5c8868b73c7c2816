/** The terminal in the page: the screen is correct, and input arrives once. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { roleText, trustRole, write } from './agent.ts'
import { clickAnswer, expect, expectLive, login, type Page, test } from './daemon.ts'
import { expectLine, expectRuntime, expectTerminal, openPage, openTestProject, runtimeControls, screenLines, serverProject, terminalPane, typeInTerminal } from './test-project.ts'
import { collectErrors } from './collect-errors.ts'

test('two browsers see the same terminal, and the last to type sets its size', async ({ browser, daemon }) => {
  const app = await openTestProject(daemon, {})
  const [one, two] = await Promise.all([browser.newPage({ viewport: { width: 1280, height: 800 } }), browser.newPage({ viewport: { width: 1100, height: 700 } })])
  await login(one, daemon)
  await login(two, daemon)
  await openPage(one, daemon, app, 'terminal')
  await expectTerminal(one, 'live')
  await openPage(two, daemon, app, 'terminal')
  await expectTerminal(two, 'live')
  await typeInTerminal(one, 'echo from one\n')
  await expectLine(two, 'from one')
  await typeInTerminal(two, 'echo from two\n')
  await expectLine(one, 'from two')
  await expect.poll(async () => [await screenLines(one), await screenLines(two)].map((rows) => rows.join('\n'))).toEqual(Array(2).fill((await screenLines(one)).join('\n')))
  // The second browser set the size; the first shows that and reclaims it.
  await expect(terminalPane(one)).toContainText('set by another window')
  const before = (await app.status()).terminal
  await terminalPane(one).getByRole('button', { name: 'Fit here' }).click()
  await expect(terminalPane(one)).not.toContainText('set by another window')
  await expect(terminalPane(two)).toContainText('set by another window')
  expect((await app.status()).terminal.cols).toBeGreaterThan(before.cols)
  await one.context().close()
  await two.context().close()
})

test('a lost connection resumes at the same byte', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  const attached: string[] = []
  page.on('websocket', (socket) => attached.push(new URL(socket.url()).searchParams.get('after') ?? 'none'))
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'for n in $(seq 1 200); do echo tick $n; sleep 0.03; done; echo over\n')
  await expectLine(page, /^tick 5$/)
  await daemon.kill()
  await expectTerminal(page, /lost|connecting/)
  await daemon.restart()
  await expectTerminal(page, 'live')
  await expectLine(page, 'over')
  // It reconnected with its offset, so all lines are in the scrollback.
  expect(attached.length).toBeGreaterThanOrEqual(2)
  expect(Number(attached.at(-1))).toBeGreaterThan(0)
  await terminalPane(page).locator('.xterm-helper-textarea').focus()
  await page.keyboard.press('Control+Shift+F')
  await page.getByLabel('Text to find').fill('tick ')
  await expect(page.getByRole('search')).toContainText(/of 200|of 201/)
})

test('a terminal that ended with the daemon is reopened when the daemon is back', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  const before = (await app.status()).terminal.pid
  const { pid } = daemon
  await daemon.request('POST', '/api/shutdown').catch(() => null)
  await expect.poll(() => existsSync(`/proc/${String(pid)}`), { timeout: 15_000 }).toBe(false)
  await expect(terminalPane(page)).not.toContainText('Refused')
  await daemon.restart()
  await expectTerminal(page, 'live')
  expect((await app.status()).terminal.pid).not.toBe(before)
  await typeInTerminal(page, 'echo in the new one\n')
  await expectLine(page, 'in the new one')
  // A page that is opened only afterwards gets a terminal too.
  await daemon.request('POST', '/api/shutdown').catch(() => null)
  await page.goto('about:blank')
  await daemon.restart()
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
})

test('a terminal whose kernel was killed says so, and is reopened with the next kernel', async ({ page, daemon }) => {
  const app = await serverProject(daemon)
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  for (const pid of await daemon.kernels()) process.kill(pid, 'SIGKILL')
  await expectTerminal(page, 'refused')
  await expect(terminalPane(page).getByRole('button', { name: 'Open a new terminal' })).toBeVisible()
  await expect(terminalPane(page)).toContainText('The terminal no longer exists.')
  await expect(terminalPane(page)).not.toContainText('KERNEL_LOST')
  await runtimeControls(page).getByRole('button', { name: 'Run', exact: true }).click()
  await expectRuntime(page, 'running')
  await expectTerminal(page, 'live')
  await page.reload()
  await expectTerminal(page, 'live')
})

test('a terminal query gets one reply, however many windows show the terminal', async ({ page, context, daemon }) => {
  const app = await openTestProject(daemon, {
    'ask.py':
      'import sys, termios, tty, os, select\nfd = sys.stdin.fileno()\nold = termios.tcgetattr(fd)\ntty.setraw(fd)\nos.write(1, b"\\x1b[c\\x1b[6n\\x1b]11;?\\x07")\nheard = b""\nwhile select.select([fd], [], [], 1.0)[0]:\n    heard += os.read(fd, 1000)\ntermios.tcsetattr(fd, termios.TCSADRAIN, old)\nprint("attributes", heard.count(b"\\x1b[?"), "cursor", heard.count(b"R"))\n',
  })
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  const second = await context.newPage()
  await openPage(second, daemon, app, 'terminal')
  await expectTerminal(second, 'live')
  await typeInTerminal(page, 'python3 ask.py\n')
  await expectLine(page, 'attributes 1 cursor 1')
  // A replayed query gets no second reply.
  await second.reload()
  await expectTerminal(second, 'live')
  await typeInTerminal(page, 'echo end\n')
  await expectLine(page, 'end')
  expect((await screenLines(page)).slice(-2)).toEqual(['end', '$'])
})

/** A point in the first letters of a row. The terminal handles the pointer, not the row. */
async function rowAt(page: Page, text: RegExp): Promise<{ readonly x: number; readonly y: number }> {
  const box = await page.locator('.xterm-rows > div', { hasText: text }).first().boundingBox()
  if (box === null) throw new Error(`no row ${String(text)}`)
  return { x: box.x + 10, y: box.y + box.height / 2 }
}

/** Draws on the alternate screen, in color, with a scroll region and wide characters, until a key is pressed. */
const FULL_SCREEN = `
import sys, termios, tty, os
fd = sys.stdin.fileno()
old = termios.tcgetattr(fd)
tty.setraw(fd)
out = sys.stdout
out.write('\\x1b[?1049h\\x1b[2J\\x1b[?25l')
for n in range(1, 20):
    out.write(f'\\x1b[{n};{n}H\\x1b[38;5;{n + 100};48;5;{n + 17}mrow {n} 漢字 👍\\x1b[0m')
out.write('\\x1b[5;10r\\x1b[10;1H\\n\\n\\x1b[r\\x1b[21;3H\\x1b[7mpress q\\x1b[0m')
out.flush()
while os.read(fd, 1) != b'q': pass
out.write('\\x1b[?25h\\x1b[?1049l')
out.flush()
termios.tcsetattr(fd, termios.TCSADRAIN, old)
`

const POEM = Array.from({ length: 200 }, (_, n) => `line ${String(n)} of the poem, 漢字 and 👍 too`).join('\n')

for (const [name, command, sign, quit] of [
  ['a program of its own', 'python3 full.py', /press q/, 'q'],
  ['vim', 'vim -u NONE -N "+set number" "+normal 50G" poem.txt', /line 45 of the poem/, ':q!\n'],
  ['less', 'less -N +30 poem.txt', /line 40 of the poem/, 'q'],
] as const) {
  test(`a full-screen program looks the same after a reload: ${name}`, async ({ page, daemon }) => {
    const app = await openTestProject(daemon, { 'full.py': FULL_SCREEN, 'poem.txt': POEM })
    await login(page, daemon)
    await openPage(page, daemon, app, 'terminal')
    await expectTerminal(page, 'live')
    await typeInTerminal(page, `echo before; ${command}; echo after\n`)
    await expectLine(page, sign)
    // The class of the cursor follows the focus.
    const styled = (): Promise<string> => page.locator('.xterm-rows').evaluate((rows) => rows.innerHTML.replaceAll(/ ?xterm-cursor[a-z-]*/g, ''))
    const [before, drawn] = [await screenLines(page), await styled()]
    expect(before.join('\n')).toContain('漢字')
    await page.reload()
    await expectTerminal(page, 'live')
    await expect.poll(() => screenLines(page)).toEqual(before)
    await expect.poll(styled).toBe(drawn)
    await typeInTerminal(page, quit)
    await expectLine(page, 'after')
    expect(await screenLines(page)).toContain('before')
  })
}

test('programs cannot access the clipboard, links need a modifier key, and no policy is violated', async ({ page, context, daemon }) => {
  const app = await openTestProject(daemon, {})
  const errors = collectErrors(page)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  await page.evaluate(() => navigator.clipboard.writeText('mine'))
  await typeInTerminal(page, "printf '\\033]52;c;c3RvbGVu\\a'; printf '\\033]0;a title\\a'; printf '\\033]8;;http://evil.example/\\033\\\\innocent\\033]8;;\\033\\\\\\n'; echo http://example.invalid/x\n")
  await expectLine(page, 'innocent')
  await expect(terminalPane(page)).toContainText('a title')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('mine')
  // A plain click opens nothing; the target is shown.
  const innocent = await rowAt(page, /^innocent/)
  await page.mouse.move(innocent.x + 3, innocent.y)
  await page.mouse.move(innocent.x, innocent.y)
  await expect(terminalPane(page)).toContainText('open http://evil.example/')
  await page.mouse.click(innocent.x, innocent.y)
  expect(context.pages()).toHaveLength(1)
  // A paste arrives as one text.
  await terminalPane(page).locator('.xterm-helper-textarea').focus()
  await page.evaluate(() => navigator.clipboard.writeText('echo pasted text'))
  await page.keyboard.press('Control+Shift+V')
  await expectLine(page, /\$ echo pasted text/)
  await page.keyboard.press('Enter')
  await expectLine(page, 'pasted text')
  // The selection is copied.
  const pasted = await rowAt(page, /^pasted text/)
  await page.mouse.dblclick(pasted.x, pasted.y)
  await page.keyboard.press('Control+Shift+C')
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('pasted')
  expect(await errors()).toEqual([])
})

test('a large paste arrives completely', async ({ page, context, daemon }) => {
  const app = await openTestProject(daemon, {})
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  const text = Array.from({ length: 5000 }, (_, n) => `line ${String(n).padStart(5, '0')} of what was pasted in one go\n`).join('')
  await page.evaluate((pasted) => navigator.clipboard.writeText(pasted), text)
  // The command line is on the screen before the shell runs it; a paste in between goes to the shell.
  // Linux drops echoed input when a terminal cannot print it fast enough, so nothing is echoed.
  await typeInTerminal(page, 'stty -echo; echo reading; head -n 5000 > pasted.txt; stty echo; wc -c < pasted.txt\n')
  await expectLine(page, 'reading')
  await page.keyboard.press('Control+Shift+V')
  await expectLine(page, String(text.length))
  expect(await readFile(join(app.folder, 'pasted.txt'), 'utf8')).toBe(text)
})

test('input of an agent is marked', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, { '.provost/roles/hands.md': roleText('hands', ['pty.open', 'pty.read', 'pty.write']) })
  await trustRole(daemon, app.project, 'hands')
  const { token } = (await daemon.request('POST', '/api/tokens', { class: 'agent', project: app.project, role: 'hands', label: 'test agent' })) as { readonly token: string }
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'echo by hand\n')
  await expectLine(page, 'by hand')
  await expect(terminalPane(page)).not.toContainText('typed')
  const asked = fetch(`${daemon.origin}/api/projects/${app.project}/actions?wait=30000`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'pty.write', params: { text: 'echo by agent\n' } }),
  })
  await clickAnswer(page, /^Allow this dangerous action/)
  expect((await asked).status).toBe(200)
  await expectLine(page, 'by agent')
  await expect(terminalPane(page)).toContainText('Agent hands typed')
  await expect(terminalPane(page)).toContainText('echo by agent')
  await page.reload()
  await expectLive(page)
  await expect(terminalPane(page)).toContainText('Agent hands typed')
})

test('a page of another origin gets no terminal, with the cookie or without', async ({ page, context, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>attack</title>'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  try {
    for (const host of ['127.0.0.1', 'localhost']) {
      const attack = await context.newPage()
      await attack.goto(`http://${host}:${String(port)}/`)
      const result = await attack.evaluate(
        async ([target, project]) => {
          const attach = (more: string): Promise<string> =>
            new Promise((done) => {
              const socket = new WebSocket(`${target.replace('http', 'ws')}/api/projects/${project}/terminal/attach?cols=80&rows=24${more}`)
              socket.onopen = () => done('opened')
              socket.onmessage = () => done('read')
              socket.onerror = () => done('refused')
            })
          const ticket = await fetch(`${target}/api/projects/${project}/terminal/ticket`, { method: 'POST', credentials: 'include', body: '{}' }).then(
            () => 'read',
            () => 'refused',
          )
          return [await attach(''), await attach('&ticket=guessed'), ticket]
        },
        [daemon.origin, app.project] as const,
      )
      expect(result, host).toEqual(['refused', 'refused', 'refused'])
      await attack.close()
    }
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a flood of output ends with the right screen, and the page stays responsive', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  // The flood lasts until the file `stop` exists.
  await typeInTerminal(page, 'while [ ! -e stop ]; do seq 1 100000; done; seq 1 1000000; echo over\n')
  await expect.poll(async () => (await screenLines(page)).some((line) => /^\d{4,}$/.test(line))).toBe(true)
  const before = (await app.status()).terminal.offset ?? 0
  for (let n = 0; n < 5; n++) {
    await page.keyboard.press('Control+Shift+K')
    await expect(page.getByRole('dialog')).toBeVisible({ timeout: 3_000 })
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden({ timeout: 3_000 })
    // It keeps drawing: three frames follow, however busy the machine is.
    const drawn = page.evaluate(() => new Promise<number>((done) => {
      let n = 0
      const draw = (): void => void (++n < 3 ? requestAnimationFrame(draw) : done(n))
      requestAnimationFrame(draw)
    }))
    await expect(drawn).resolves.toBe(3)
  }
  expect(((await app.status()).terminal.offset ?? 0) - before, 'and the flood went on').toBeGreaterThan(5_000_000)
  await write(app.folder, 'stop', '')
  await expect.poll(async () => (await screenLines(page)).slice(-3), { timeout: 40_000 }).toEqual(['1000000', 'over', '$'])
  await expectTerminal(page, 'live')
})

test('resizing the window resizes the terminal, and programs are notified', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  await typeInTerminal(page, 'stty size\n')
  await expectLine(page, /^\d+ \d+$/)
  const before = (await app.status()).terminal
  await page.setViewportSize({ width: 1000, height: 600 })
  await app.waitFor(({ terminal }) => terminal.cols < before.cols && terminal.rows < before.rows)
  await expect(terminalPane(page)).not.toContainText('set by another window')
  const { cols, rows } = (await app.status()).terminal
  await typeInTerminal(page, 'clear; stty size\n')
  await expectLine(page, `${String(rows)} ${String(cols)}`)
})

test('keys go to the terminal, except the shortcut of the palette', async ({ page, daemon }) => {
  const app = await openTestProject(daemon, {})
  await login(page, daemon)
  await openPage(page, daemon, app, 'terminal')
  await expectTerminal(page, 'live')
  // Ctrl-K cuts the line, Tab completes, `i` is a letter.
  await typeInTerminal(page, 'echo ihello trash')
  for (let n = 0; n < 6; n++) await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Enter')
  await expectLine(page, 'ihello')
  await expect(page.getByRole('dialog')).toBeHidden()
  await page.keyboard.press('Control+Shift+K')
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.keyboard.type('timeline of')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
})

test('the terminal is drawn with WebGL if available', async ({ playwright, daemon }) => {
  const app = await openTestProject(daemon, {})
  const browser = await playwright.chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-swiftshader'] })
  try {
    const page = await browser.newPage()
    const errors = collectErrors(page)
    await login(page, daemon)
    await openPage(page, daemon, app, 'terminal')
    await expectTerminal(page, 'live')
    expect(await page.evaluate(() => document.createElement('canvas').getContext('webgl2') !== null), 'this browser has WebGL').toBe(true)
    // A canvas returns only the context type that was requested first.
    const drawn = page.locator('.xterm-screen canvas')
    await expect.poll(() => drawn.evaluateAll((all) => all.filter((one) => (one as HTMLCanvasElement).getContext('webgl2') !== null).length)).toBe(1)
    await expect(page.locator('.xterm-rows')).toHaveCount(0)
    // Software rendering logs performance warnings; only errors and policy violations matter.
    expect((await errors()).filter((line) => /policy|error|requested/i.test(line) && !/GPU|swiftshader/i.test(line))).toEqual([])
  } finally {
    await browser.close()
  }
})
