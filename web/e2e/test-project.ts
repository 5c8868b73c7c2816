/** Projects with a runtime, and helpers for the runtime, terminal and preview pages. */
import { existsSync } from 'node:fs'
import { cp, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { write } from './agent.ts'
import { expect, type Daemon, type Page } from './daemon.ts'

/** The runtime status of a project. */
export type RuntimeStatus = {
  readonly status: string
  readonly seq: number
  readonly kernel: { readonly status: string; readonly pid: number | null; readonly heartbeatMs: number | null }
  readonly terminal: { readonly status: string; readonly pid: number | null; readonly cols: number; readonly rows: number; readonly offset: number | null; readonly exitCode: number | null }
  readonly devServer: { readonly pid: number | null; readonly exitCode: number | null; readonly action: string | null; readonly crash: { readonly lastLines: readonly string[] } | null }
  readonly build: { readonly status: string; readonly errors: readonly { readonly file: string | null }[] }
  readonly preview: { readonly status: string; readonly port: number | null; readonly ports: readonly { readonly port: number }[] }
}

/** An open project. */
export type TestProject = {
  readonly folder: string
  readonly project: string
  readonly slug: string
  readonly status: () => Promise<RuntimeStatus>
  /** Waits until the status fulfills the condition. */
  readonly waitFor: (is: (status: RuntimeStatus) => boolean) => Promise<RuntimeStatus>
  readonly send: (command: 'run' | 'stop' | 'restart' | 'build') => Promise<unknown>
}

/**
 * A dev server: serves a page and exits when the file `die` appears. A marker is in its
 * command line and in those of its children, which have sessions of their own, so that
 * all of them can be found in /proc.
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
export async function openTestProject(daemon: Daemon, files: Readonly<Record<string, string>>, name = 'app'): Promise<TestProject> {
  const folder = await daemon.folder(name)
  for (const [path, text] of Object.entries(files)) await write(folder, path, text)
  const { id: project, slug } = (await daemon.request('POST', '/api/projects', { path: folder })) as { readonly id: string; readonly slug: string }
  const status = async (): Promise<RuntimeStatus> => (await daemon.request('GET', `/api/projects/${project}/runtime/status`)) as RuntimeStatus
  const waitFor = async (is: (status: RuntimeStatus) => boolean): Promise<RuntimeStatus> => {
    let last: RuntimeStatus | null = null
    await expect.poll(async () => is((last = await status())), { timeout: 20_000, intervals: [20, 50, 100], message: 'the status never fulfilled the condition' }).toBe(true)
    if (last === null) throw new Error('no status')
    return last
  }
  const send = (command: string): Promise<unknown> => daemon.request('POST', `/api/projects/${project}/runtime/${command}`, {})
  return { folder, project, slug, status, waitFor, send }
}

/** A project whose dev server can be found in /proc by its marker. */
export async function serverProject(daemon: Daemon, how: 'alone' | 'family' = 'alone'): Promise<TestProject & { readonly marker: string }> {
  const marker = `provost-e2e-${String(process.pid)}-${String(Math.floor(Math.random() * 1e9))}`
  const toml = `[runtime]\ndev = "node server.js ${marker} ${how}"\n`
  return { ...(await openTestProject(daemon, { 'server.js': SERVER, 'provost.toml': toml })), marker }
}

/** Our own packages, some of which are copied into projects. */
const PACKAGES = resolve(import.meta.dirname, '../node_modules')

/**
 * Installs packages of ours and their dependencies in a project. They are copied: inside the
 * sandbox a project sees nothing of /tmp but itself, and this repository may be there.
 */
async function install(folder: string, ...names: readonly string[]): Promise<void> {
  const installed = new Set<string>()
  const add = async (name: string): Promise<void> => {
    const from = join(PACKAGES, name)
    // Optional packages may be missing, and nested packages are copied with their parent.
    if (installed.has(name) || !existsSync(from)) return
    installed.add(name)
    await cp(from, join(folder, 'node_modules', name), { recursive: true })
    // Also the dependencies of nested packages.
    const inside = await readdir(from, { recursive: true })
    for (const file of inside.filter((file) => /(^|node_modules\/(@[^/]+\/)?[^/]+\/)package\.json$/.test(file))) {
      const manifest = JSON.parse(await readFile(join(from, file), 'utf8')) as Dependencies
      const dependencies = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies }
      for (const dependency of Object.keys(dependencies)) await add(dependency)
    }
  }
  for (const name of names) await add(name)
}

/** The dependencies of a package, by name. */
type Dependencies = Readonly<Partial<Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Readonly<Record<string, string>>>>>

/** A Vite project, with the Vite version that builds this UI. */
export async function viteProject(daemon: Daemon): Promise<TestProject> {
  await install(await daemon.folder('app'), 'vite')
  return openTestProject(daemon, {
    'package.json': '{ "name": "app", "private": true, "type": "module" }',
    'provost.toml': '[runtime]\ndev = "node node_modules/vite/bin/vite.js"\n',
    'index.html': '<!doctype html><title>vite app</title><h1 id="greeting"></h1><input id="field"><script type="module" src="/main.js"></script>',
    'main.js': "import { greeting } from './greeting.js'\nconst show = (text) => (document.getElementById('greeting').textContent = text)\nshow(greeting)\nif (import.meta.hot) import.meta.hot.accept('./greeting.js', (next) => show(next.greeting))\n",
    'greeting.js': "export const greeting = 'before'\n",
    'vite.config.js': 'export default {}\n',
  })
}

/** A webpack project with its dev server, without settings for previews. */
export async function webpackProject(daemon: Daemon): Promise<TestProject> {
  await install(await daemon.folder('app'), 'webpack', 'webpack-dev-server')
  return openTestProject(daemon, {
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

/** The Vite project with its own server for `/api`, to which Vite proxies requests. */
export async function viteWithApi(daemon: Daemon): Promise<TestProject> {
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

/** The processes with a marker in their command line. */
export async function processesWith(marker: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => lines[index]?.includes(marker))
}

/** The number of PTYs whose master end a process holds; 0 for one that this user cannot inspect. */
export async function countPtys(pid: number): Promise<number> {
  const names = await readdir(`/proc/${String(pid)}/fdinfo`).catch(() => [])
  const infos = await Promise.all(names.map((name) => readFile(`/proc/${String(pid)}/fdinfo/${name}`, 'utf8').catch(() => '')))
  return new Set(infos.flatMap((info) => /^tty-index:\s*(\d+)/m.exec(info)?.[1] ?? [])).size
}

/** The number of terminals that the descendants of a process run in, which every user can see. */
export async function countTerminalsBelow(ancestor: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  // After the name in parentheses: state, parent, process group, session, terminal.
  const processes = stats.flatMap((stat) => {
    const [, pid, parent, terminal] = /^(\d+) .*\) \S+ (\d+) \S+ \S+ (\d+)/s.exec(stat) ?? []
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), terminal: Number(terminal) }]
  })
  const [terminals, ancestors] = [new Set<number>(), [ancestor]]
  for (let next = ancestors.pop(); next !== undefined; next = ancestors.pop()) {
    for (const { pid, terminal } of processes.filter(({ parent }) => parent === next)) {
      ancestors.push(pid)
      if (terminal !== 0) terminals.add(terminal)
    }
  }
  return terminals.size
}

/** The runtime controls in the header. */
export function runtimeControls(page: Page) {
  return page.getByRole('group', { name: /^Runtime of/ })
}

/** The output of builds and the dev server. */
export function output(page: Page) {
  return page.getByRole('log', { name: 'Output, the last' })
}

/** Opens a page of the project, optionally with a side page. */
export async function openPage(page: Page, daemon: Daemon, { slug }: TestProject, name: 'run' | 'terminal' | 'preview', sidePage?: string): Promise<void> {
  await page.goto(`${daemon.origin}/#/projects/${slug}/${name}${sidePage === undefined ? '' : `?beside=${sidePage}`}`)
}

/** Waits until the header shows this runtime status. */
export async function expectRuntime(page: Page, status: string): Promise<void> {
  await expect(runtimeControls(page)).toHaveAttribute('data-runtime', status, { timeout: 20_000 })
}

/** The terminal pane. */
export function terminalPane(page: Page) {
  return page.locator('[data-terminal]')
}

/** Waits until the terminal is in this state. */
export async function expectTerminal(page: Page, state: string | RegExp): Promise<void> {
  await expect(terminalPane(page)).toHaveAttribute('data-terminal', state, { timeout: 20_000 })
}

/** The lines on the screen of the terminal, without trailing blanks. */
export async function screenLines(page: Page): Promise<readonly string[]> {
  const rows = await page.locator('.xterm-rows > div').evaluateAll((divs) => divs.map((div) => (div.textContent ?? '').replaceAll('\u00a0', ' ').trimEnd()))
  while (rows.at(-1) === '') rows.pop()
  return rows
}

/** Waits until a line is on the screen of the terminal. */
export async function expectLine(page: Page, line: string | RegExp): Promise<void> {
  const matches = (row: string): boolean => (typeof line === 'string' ? row === line : line.test(row))
  await expect.poll(async () => (await screenLines(page)).some(matches), { timeout: 30_000, message: `no ${String(line)} on the screen` }).toBe(true)
}

/** Types into the terminal. */
export async function typeInTerminal(page: Page, text: string): Promise<void> {
  await terminalPane(page).locator('.xterm-helper-textarea').focus()
  await page.keyboard.type(text)
}

/** The page in the preview. */
export function previewFrame(page: Page) {
  return page.frameLocator('iframe[title^="Preview of"]')
}
