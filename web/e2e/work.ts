/** A project with something to run, and what the page and the kernel say of it. */
import { existsSync } from 'node:fs'
import { cp, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { write } from './agent.ts'
import { expect, type Daemon, type Page } from './provost.ts'

/** What the daemon says of a project's runtime. */
export type Status = {
  readonly status: string
  readonly seq: number
  readonly kernel: { readonly status: string; readonly pid: number | null; readonly heartbeatMs: number | null }
  readonly terminal: { readonly status: string; readonly pid: number | null; readonly cols: number; readonly rows: number; readonly offset: number | null; readonly exitCode: number | null }
  readonly devServer: { readonly pid: number | null; readonly exitCode: number | null; readonly action: string | null; readonly crash: { readonly lastLines: readonly string[] } | null }
  readonly build: { readonly status: string; readonly errors: readonly { readonly file: string | null }[] }
  readonly preview: { readonly status: string; readonly port: number | null; readonly ports: readonly { readonly port: number }[] }
}

/** An open project. */
export type Work = {
  readonly folder: string
  readonly project: string
  readonly slug: string
  readonly status: () => Promise<Status>
  /** Waits until the daemon says so. */
  readonly until: (is: (status: Status) => boolean) => Promise<Status>
  readonly act: (deed: 'run' | 'stop' | 'restart' | 'build') => Promise<unknown>
}

/**
 * A dev server: says hello, serves a page, ends when a file is there. The marker
 * is in its command line and in those of its children, which hide in sessions of
 * their own, so that all can be found in /proc.
 */
export const SERVER = `
const { existsSync, rmSync } = require('fs')
const { spawn } = require('child_process')
const http = require('http')
if (process.argv[3] === 'family') {
  for (let n = 0; n < 3; n++) spawn('setsid', ['bash', '-c', 'exec -a ' + process.argv[2] + '-' + n + ' sleep 1000'], { stdio: 'ignore', detached: true }).unref()
}
let n = 0
const server = http.createServer((request, response) => {
  n++
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>app</title><h1>Hello from the app</h1><p id=path>' + request.url + '</p><p id=n>' + n + '</p><p id=pid>' + process.pid + '</p>')
})
server.listen(0, '127.0.0.1', () => console.log('\\x1b[32mready\\x1b[0m at http://localhost:' + server.address().port + '/'))
setInterval(() => {
  if (!existsSync('die')) return
  rmSync('die')
  console.error('something broke badly')
  process.exit(3)
}, 20)
`

/** Opens a folder with these files as a project. */
export async function work(daemon: Daemon, files: Readonly<Record<string, string>>, name = 'app'): Promise<Work> {
  const folder = await daemon.folder(name)
  for (const [path, text] of Object.entries(files)) await write(folder, path, text)
  const { id: project, slug } = (await daemon.ask('POST', '/api/projects', { path: folder })) as { readonly id: string; readonly slug: string }
  const status = async (): Promise<Status> => (await daemon.ask('GET', `/api/projects/${project}/runtime/status`)) as Status
  const until = async (is: (status: Status) => boolean): Promise<Status> => {
    let last: Status | null = null
    await expect.poll(async () => is((last = await status())), { timeout: 20_000, intervals: [20, 50, 100], message: 'the status never said so' }).toBe(true)
    if (last === null) throw new Error('no status')
    return last
  }
  const act = (deed: string): Promise<unknown> => daemon.ask('POST', `/api/projects/${project}/runtime/${deed}`, {})
  return { folder, project, slug, status, until, act }
}

/** A project whose dev server can be found in /proc by its marker. */
export async function server(daemon: Daemon, how: 'alone' | 'family' = 'alone'): Promise<Work & { readonly marker: string }> {
  const marker = `provost-e2e-${String(process.pid)}-${String(Math.floor(Math.random() * 1e9))}`
  const toml = `[runtime]\ndev = "node server.js ${marker} ${how}"\n`
  return { ...(await work(daemon, { 'server.js': SERVER, 'provost.toml': toml })), marker }
}

/** Our own packages, of which projects get some. */
const PACKAGES = resolve(import.meta.dirname, '../node_modules')

/**
 * Gives a project packages of ours and all that they need. They are copied: behind the wall
 * a project sees nothing of /tmp but itself, and this may be checked out there.
 */
async function install(folder: string, ...names: readonly string[]): Promise<void> {
  const installed = new Set<string>()
  const add = async (name: string): Promise<void> => {
    const from = join(PACKAGES, name)
    // What is optional may be for another machine, and what lies in a package comes with it.
    if (installed.has(name) || !existsSync(from)) return
    installed.add(name)
    await cp(from, join(folder, 'node_modules', name), { recursive: true })
    // Also what those need that lie in it.
    const inside = await readdir(from, { recursive: true })
    for (const file of inside.filter((file) => /(^|node_modules\/(@[^/]+\/)?[^/]+\/)package\.json$/.test(file))) {
      const manifest = JSON.parse(await readFile(join(from, file), 'utf8')) as Needs
      const needs = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies }
      for (const need of Object.keys(needs)) await add(need)
    }
  }
  for (const name of names) await add(name)
}

/** What a package needs, by name. */
type Needs = Readonly<Partial<Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Readonly<Record<string, string>>>>>

/** A project of Vite, with the Vite that builds this UI. */
export async function viteProject(daemon: Daemon): Promise<Work> {
  await install(await daemon.folder('app'), 'vite')
  return work(daemon, {
    'package.json': '{ "name": "app", "private": true, "type": "module" }',
    'provost.toml': '[runtime]\ndev = "node node_modules/vite/bin/vite.js"\n',
    'index.html': '<!doctype html><title>vite app</title><h1 id="greeting"></h1><input id="field"><script type="module" src="/main.js"></script>',
    'main.js': "import { greeting } from './greeting.js'\nconst show = (text) => (document.getElementById('greeting').textContent = text)\nshow(greeting)\nif (import.meta.hot) import.meta.hot.accept('./greeting.js', (next) => show(next.greeting))\n",
    'greeting.js': "export const greeting = 'before'\n",
    'vite.config.js': 'export default {}\n',
  })
}

/** A project of webpack and its dev server, as they are without any setting for previews. */
export async function webpackProject(daemon: Daemon): Promise<Work> {
  await install(await daemon.folder('app'), 'webpack', 'webpack-dev-server')
  return work(daemon, {
    'package.json': '{ "name": "app", "private": true }',
    'provost.toml': '[runtime]\ndev = "node dev.js"\n',
    'dev.js': `
const webpack = require('webpack')
const DevServer = require('webpack-dev-server')
const compiler = webpack({ mode: 'development', entry: './src/main.js', output: { filename: 'main.js' } })
new DevServer({ static: './public', port: 'auto' }, compiler).start()
`,
    'public/index.html': '<!doctype html><title>webpack app</title><h1 id="greeting"></h1><input id="field"><script src="/main.js"></script>',
    'src/main.js': "import { greeting } from './greeting.js'\nconst show = () => (document.getElementById('greeting').textContent = greeting)\nshow()\nif (module.hot) module.hot.accept('./greeting.js', show)\n",
    'src/greeting.js': "export const greeting = 'before'\n",
  })
}

/** The project of Vite with a server of its own for `/api`, to which Vite passes requests on. */
export async function viteWithApi(daemon: Daemon): Promise<Work> {
  const app = await viteProject(daemon)
  const files = {
    'dev.cjs': `
const { spawn } = require('child_process')
const api = require('http').createServer((request, response) => response.end('the api says ' + request.url))
api.listen(0, '127.0.0.1', () => spawn('node', ['node_modules/vite/bin/vite.js'], { stdio: 'inherit', env: { ...process.env, API: 'http://127.0.0.1:' + api.address().port } }))
`,
    'vite.config.js': "export default { server: { proxy: { '/api': process.env.API } } }\n",
    'main.js': "fetch('/api/hello').then(async (response) => (document.getElementById('greeting').textContent = await response.text()))\n",
    'provost.toml': '[runtime]\ndev = "node dev.cjs"\n',
  }
  for (const [path, text] of Object.entries(files)) await write(app.folder, path, text)
  return app
}

/** The processes in whose command line a marker stands. */
export async function marked(marker: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => lines[index]?.includes(marker))
}

/** How many terminals a process holds the other end of, by however many handles. */
export async function terminalsOf(pid: number): Promise<number> {
  const names = await readdir(`/proc/${String(pid)}/fdinfo`).catch(() => [])
  const infos = await Promise.all(names.map((name) => readFile(`/proc/${String(pid)}/fdinfo/${name}`, 'utf8').catch(() => '')))
  return new Set(infos.flatMap((info) => /^tty-index:\s*(\d+)/m.exec(info)?.[1] ?? [])).size
}

/** The group of controls in the header. */
export function bar(page: Page) {
  return page.getByRole('group', { name: /^Runtime of/ })
}

/** What builds and the dev server printed. */
export function output(page: Page) {
  return page.getByRole('log', { name: 'What was printed' })
}

/** Goes to a page of the project. */
export async function look(page: Page, daemon: Daemon, { slug }: Work, name: 'run' | 'terminal' | 'preview', beside?: string): Promise<void> {
  await page.goto(`${daemon.origin}/#/projects/${slug}/${name}${beside === undefined ? '' : `?beside=${beside}`}`)
}

/** Waits until the runtime is in this state, as the header says. */
export async function isNow(page: Page, status: string): Promise<void> {
  await expect(bar(page)).toHaveAttribute('data-runtime', status, { timeout: 20_000 })
}

/** The pane of the terminal. */
export function pane(page: Page) {
  return page.locator('[data-terminal]')
}

/** Waits until the terminal is in this state. */
export async function terminalIs(page: Page, state: string | RegExp): Promise<void> {
  await expect(pane(page)).toHaveAttribute('data-terminal', state, { timeout: 20_000 })
}

/** What stands on the screen of the terminal, without the blanks at the ends. */
export async function screen(page: Page): Promise<readonly string[]> {
  const rows = await page.locator('.xterm-rows > div').evaluateAll((divs) => divs.map((div) => (div.textContent ?? '').replaceAll('\u00a0', ' ').trimEnd()))
  while (rows.at(-1) === '') rows.pop()
  return rows
}

/** Waits until a line stands on the screen. */
export async function shows(page: Page, line: string | RegExp): Promise<void> {
  const is = (row: string): boolean => (typeof line === 'string' ? row === line : line.test(row))
  await expect.poll(async () => (await screen(page)).some(is), { timeout: 30_000, message: `no ${String(line)} on the screen` }).toBe(true)
}

/** Types into the terminal. */
export async function type(page: Page, text: string): Promise<void> {
  await pane(page).locator('.xterm-helper-textarea').focus()
  await page.keyboard.type(text)
}

/** The page inside the preview. */
export function inside(page: Page) {
  return page.frameLocator('iframe[title^="Preview of"]')
}
