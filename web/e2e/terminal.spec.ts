/** The terminal in the page: what stands there is what the terminal shows, and what is typed goes there once. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { roleText, trustRole, write } from './agent.ts'
import { expect, isLive, login, press, test, type Page } from './provost.ts'
import { bar, isNow, look, pane, screen, server, shows, terminalIs, type, work } from './work.ts'
import { watch } from './watch.ts'

test('two browsers see the same terminal, and the last to type sets its size', async ({ browser, daemon }) => {
  const app = await work(daemon, {})
  const [one, two] = await Promise.all([browser.newPage({ viewport: { width: 1280, height: 800 } }), browser.newPage({ viewport: { width: 1100, height: 700 } })])
  await login(one, daemon)
  await login(two, daemon)
  await look(one, daemon, app, 'terminal')
  await terminalIs(one, 'live')
  await look(two, daemon, app, 'terminal')
  await terminalIs(two, 'live')
  await type(one, 'echo from one\n')
  await shows(two, 'from one')
  await type(two, 'echo from two\n')
  await shows(one, 'from two')
  await expect.poll(async () => [await screen(one), await screen(two)].map((rows) => rows.join('\n'))).toEqual(Array(2).fill((await screen(one)).join('\n')))
  // The size is that of the second; the first says so, and takes it back.
  await expect(pane(one)).toContainText('set by another window')
  const before = (await app.status()).terminal
  await pane(one).getByRole('button', { name: 'Fit here' }).click()
  await expect(pane(one)).not.toContainText('set by another window')
  await expect(pane(two)).toContainText('set by another window')
  expect((await app.status()).terminal.cols).toBeGreaterThan(before.cols)
  await one.context().close()
  await two.context().close()
})

test('a connection that breaks is taken up where it was, byte for byte', async ({ page, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  const attached: string[] = []
  page.on('websocket', (socket) => attached.push(new URL(socket.url()).searchParams.get('after') ?? 'none'))
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  await type(page, 'for n in $(seq 1 200); do echo tick $n; sleep 0.03; done; echo over\n')
  await shows(page, /^tick 5$/)
  await daemon.kill()
  await terminalIs(page, /lost|connecting/)
  await daemon.restart()
  await terminalIs(page, 'live')
  await shows(page, 'over')
  // It came back with its place, and so with nothing missing: all lines stand in the scrollback.
  expect(attached.length).toBeGreaterThanOrEqual(2)
  expect(Number(attached.at(-1))).toBeGreaterThan(0)
  await pane(page).locator('.xterm-helper-textarea').focus()
  await page.keyboard.press('Control+Shift+F')
  await page.getByLabel('Text to find').fill('tick ')
  await expect(page.getByRole('search')).toContainText(/of 200|of 201/)
})

test('a terminal that ended in order with the daemon is opened anew when that is back', async ({ page, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  const before = (await app.status()).terminal.pid
  const { pid } = daemon
  await daemon.ask('POST', '/api/shutdown').catch(() => null)
  await expect.poll(() => existsSync(`/proc/${String(pid)}`), { timeout: 15_000 }).toBe(false)
  await expect(pane(page)).not.toContainText('Refused')
  await daemon.restart()
  await terminalIs(page, 'live')
  expect((await app.status()).terminal.pid).not.toBe(before)
  await type(page, 'echo in the new one\n')
  await shows(page, 'in the new one')
  // Whoever looks only then finds the same.
  await daemon.ask('POST', '/api/shutdown').catch(() => null)
  await page.goto('about:blank')
  await daemon.restart()
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
})

test('a terminal whose kernel was killed says so, and comes back with the next kernel', async ({ page, daemon }) => {
  const app = await server(daemon)
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  for (const pid of await daemon.kernels()) process.kill(pid, 'SIGKILL')
  await terminalIs(page, 'refused')
  await expect(pane(page).getByRole('button', { name: 'Open a new one' })).toBeVisible()
  await expect(pane(page)).toContainText('There is no terminal any more.')
  await expect(pane(page)).not.toContainText('KERNEL_LOST')
  await bar(page).getByRole('button', { name: 'Run', exact: true }).click()
  await isNow(page, 'running')
  await terminalIs(page, 'live')
  await page.reload()
  await terminalIs(page, 'live')
})

test('a program asks the terminal, and one answer comes, however many look', async ({ page, context, daemon }) => {
  const app = await work(daemon, {
    'ask.py':
      'import sys, termios, tty, os, select\nfd = sys.stdin.fileno()\nold = termios.tcgetattr(fd)\ntty.setraw(fd)\nos.write(1, b"\\x1b[c\\x1b[6n\\x1b]11;?\\x07")\nheard = b""\nwhile select.select([fd], [], [], 1.0)[0]:\n    heard += os.read(fd, 1000)\ntermios.tcsetattr(fd, termios.TCSADRAIN, old)\nprint("attributes", heard.count(b"\\x1b[?"), "cursor", heard.count(b"R"))\n',
  })
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  const second = await context.newPage()
  await look(second, daemon, app, 'terminal')
  await terminalIs(second, 'live')
  await type(page, 'python3 ask.py\n')
  await shows(page, 'attributes 1 cursor 1')
  // What was asked is replayed to who comes late, and not answered again.
  await second.reload()
  await terminalIs(second, 'live')
  await type(page, 'echo end\n')
  await shows(page, 'end')
  expect((await screen(page)).slice(-2)).toEqual(['end', '$'])
})

/** A point in the first letters of a row. The pointer is the terminal's, not the row's. */
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
    const app = await work(daemon, { 'full.py': FULL_SCREEN, 'poem.txt': POEM })
    await login(page, daemon)
    await look(page, daemon, app, 'terminal')
    await terminalIs(page, 'live')
    await type(page, `echo before; ${command}; echo after\n`)
    await shows(page, sign)
    // The class of the cursor follows the focus.
    const styled = (): Promise<string> => page.locator('.xterm-rows').evaluate((rows) => rows.innerHTML.replaceAll(/ ?xterm-cursor[a-z-]*/g, ''))
    const [before, drawn] = [await screen(page), await styled()]
    expect(before.join('\n')).toContain('漢字')
    await page.reload()
    await terminalIs(page, 'live')
    await expect.poll(() => screen(page)).toEqual(before)
    await expect.poll(styled).toBe(drawn)
    await type(page, quit)
    await shows(page, 'after')
    expect(await screen(page)).toContain('before')
  })
}

test('the clipboard is the person’s, links are followed only when meant, and nothing of it breaks a policy', async ({ page, context, daemon }) => {
  const app = await work(daemon, {})
  const heard = watch(page)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  await page.evaluate(() => navigator.clipboard.writeText('mine'))
  await type(page, "printf '\\033]52;c;c3RvbGVu\\a'; printf '\\033]0;a title\\a'; printf '\\033]8;;http://evil.example/\\033\\\\innocent\\033]8;;\\033\\\\\\n'; echo http://example.invalid/x\n")
  await shows(page, 'innocent')
  await expect(pane(page)).toContainText('a title')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('mine')
  // A press alone opens nothing; where it leads is shown.
  const innocent = await rowAt(page, /^innocent/)
  await page.mouse.move(innocent.x + 3, innocent.y)
  await page.mouse.move(innocent.x, innocent.y)
  await expect(pane(page)).toContainText('open http://evil.example/')
  await page.mouse.click(innocent.x, innocent.y)
  expect(context.pages()).toHaveLength(1)
  // A paste arrives as one text.
  await pane(page).locator('.xterm-helper-textarea').focus()
  await page.evaluate(() => navigator.clipboard.writeText('echo pasted text'))
  await page.keyboard.press('Control+Shift+V')
  await shows(page, /\$ echo pasted text/)
  await page.keyboard.press('Enter')
  await shows(page, 'pasted text')
  // What is marked is copied.
  const pasted = await rowAt(page, /^pasted text/)
  await page.mouse.dblclick(pasted.x, pasted.y)
  await page.keyboard.press('Control+Shift+C')
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('pasted')
  expect(await heard()).toEqual([])
})

test('a large paste arrives whole', async ({ page, context, daemon }) => {
  const app = await work(daemon, {})
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  const text = Array.from({ length: 5000 }, (_, n) => `line ${String(n).padStart(5, '0')} of what was pasted in one go\n`).join('')
  await page.evaluate((pasted) => navigator.clipboard.writeText(pasted), text)
  await type(page, 'cat > pasted.txt; wc -c < pasted.txt\n')
  await shows(page, /wc -c/)
  await page.keyboard.press('Control+Shift+V')
  await shows(page, 'line 04999 of what was pasted in one go')
  await page.keyboard.press('Control+d')
  await shows(page, String(text.length))
  expect(await readFile(join(app.folder, 'pasted.txt'), 'utf8')).toBe(text)
})

test('what an agent typed is marked as an agent’s', async ({ page, daemon }) => {
  const app = await work(daemon, { '.provost/roles/hands.md': roleText('hands', ['pty.open', 'pty.read', 'pty.write']) })
  await trustRole(daemon, app.project, 'hands')
  const { token } = (await daemon.ask('POST', '/api/tokens', { class: 'agent', project: app.project, role: 'hands', label: 'test agent' })) as { readonly token: string }
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  await type(page, 'echo by hand\n')
  await shows(page, 'by hand')
  await expect(pane(page)).not.toContainText('typed')
  const asked = fetch(`${daemon.origin}/api/projects/${app.project}/actions?wait=30000`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'pty.write', params: { text: 'echo by agent\n' } }),
  })
  await press(page, /^Allow once/)
  expect((await asked).status).toBe(200)
  await shows(page, 'by agent')
  await expect(pane(page)).toContainText('Agent hands typed')
  await expect(pane(page)).toContainText('echo by agent')
  await page.reload()
  await isLive(page)
  await expect(pane(page)).toContainText('Agent hands typed')
})

test('a page of another origin gets no terminal, with the cookie or without', async ({ page, context, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>attack</title>'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  try {
    for (const host of ['127.0.0.1', 'localhost']) {
      const attack = await context.newPage()
      await attack.goto(`http://${host}:${String(port)}/`)
      const came = await attack.evaluate(
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
      expect(came, host).toEqual(['refused', 'refused', 'refused'])
      await attack.close()
    }
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a flood of output ends with the right screen, and the page answers all the while', async ({ page, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  // It goes on until we say so: what is done meanwhile is done in the midst of it.
  await type(page, 'while [ ! -e stop ]; do seq 1 100000; done; seq 1 1000000; echo over\n')
  await expect.poll(async () => (await screen(page)).some((line) => /^\d{4,}$/.test(line))).toBe(true)
  const before = (await app.status()).terminal.offset ?? 0
  for (let n = 0; n < 5; n++) {
    await page.keyboard.press('Control+Shift+K')
    await expect(page.getByRole('dialog')).toBeVisible({ timeout: 3_000 })
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden({ timeout: 3_000 })
    // It goes on drawing: three frames come, however busy the machine is.
    const drawn = page.evaluate(() => new Promise<number>((done) => {
      let n = 0
      const draw = (): void => void (++n < 3 ? requestAnimationFrame(draw) : done(n))
      requestAnimationFrame(draw)
    }))
    await expect(drawn).resolves.toBe(3)
  }
  expect(((await app.status()).terminal.offset ?? 0) - before, 'and the flood went on').toBeGreaterThan(5_000_000)
  await write(app.folder, 'stop', '')
  await expect.poll(async () => (await screen(page)).slice(-3), { timeout: 40_000 }).toEqual(['1000000', 'over', '$'])
  await terminalIs(page, 'live')
})

test('a window that is resized makes the terminal fit, and programs are told', async ({ page, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  await type(page, 'stty size\n')
  await shows(page, /^\d+ \d+$/)
  const before = (await app.status()).terminal
  await page.setViewportSize({ width: 1000, height: 600 })
  await app.until(({ terminal }) => terminal.cols < before.cols && terminal.rows < before.rows)
  await expect(pane(page)).not.toContainText('set by another window')
  const { cols, rows } = (await app.status()).terminal
  await type(page, 'clear; stty size\n')
  await shows(page, `${String(rows)} ${String(cols)}`)
})

test('keys belong to the terminal, and one way out is left', async ({ page, daemon }) => {
  const app = await work(daemon, {})
  await login(page, daemon)
  await look(page, daemon, app, 'terminal')
  await terminalIs(page, 'live')
  // Ctrl-K cuts the line, Tab completes, `i` is a letter.
  await type(page, 'echo ihello trash')
  for (let n = 0; n < 6; n++) await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Enter')
  await shows(page, 'ihello')
  await expect(page.getByRole('dialog')).toBeHidden()
  await page.keyboard.press('Control+Shift+K')
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.keyboard.type('timeline of')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
})

test('the terminal is drawn with WebGL where there is one', async ({ playwright, daemon }) => {
  const app = await work(daemon, {})
  const browser = await playwright.chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-swiftshader'] })
  try {
    const page = await browser.newPage()
    const heard = watch(page)
    await login(page, daemon)
    await look(page, daemon, app, 'terminal')
    await terminalIs(page, 'live')
    expect(await page.evaluate(() => document.createElement('canvas').getContext('webgl2') !== null), 'this browser has WebGL').toBe(true)
    // A canvas gives the context that it was first asked for, and no other.
    const drawn = page.locator('.xterm-screen canvas')
    await expect.poll(() => drawn.evaluateAll((all) => all.filter((one) => (one as HTMLCanvasElement).getContext('webgl2') !== null).length)).toBe(1)
    await expect(page.locator('.xterm-rows')).toHaveCount(0)
    // Drawn by a processor it is slow, and says so; what matters is that nothing is forbidden or broken.
    expect((await heard()).filter((line) => /policy|error|asked for/i.test(line) && !/GPU|swiftshader/i.test(line))).toEqual([])
  } finally {
    await browser.close()
  }
})
