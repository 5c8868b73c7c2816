/**
 * A daemon for one test, in its own folder, and helpers for the page.
 *
 * It is the real program. At the end of a test, its daemon is killed and its folder
 * removed.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { test as base, expect, type Page } from '@playwright/test'

const BINARY = resolve(process.env['PROVOST_BIN'] ?? join(import.meta.dirname, '../../target/debug/provost'))
const START_MS = 15_000
const EXIT_MS = 10_000

/** A running daemon. */
export class Daemon {
  readonly #root: string
  readonly #args: readonly string[]
  #child: ChildProcess | null = null
  #address = ''
  #output = ''

  private constructor(root: string, args: readonly string[]) {
    this.#root = root
    this.#args = args
  }

  /** Starts a daemon on a free port. */
  static async start(...args: readonly string[]): Promise<Daemon> {
    return Daemon.configured('', ...args)
  }

  /** Starts a daemon with a configuration. */
  static async configured(config: string, ...args: readonly string[]): Promise<Daemon> {
    if (!existsSync(BINARY)) throw new Error(`${BINARY} does not exist: build it, or set PROVOST_BIN`)
    const daemon = new Daemon(await realpath(await mkdtemp(join(tmpdir(), 'provost-e2e-'))), args)
    try {
      await writeFile(join(daemon.#root, 'config.toml'), config)
      await writeFile(join(daemon.#root, '.bashrc'), "PS1='$ '\n")
      await daemon.#run('127.0.0.1:0')
    } catch (error) {
      await daemon.end()
      throw error
    }
    return daemon
  }

  /** The origin of its UI and API. */
  get origin(): string {
    return `http://${this.#address}`
  }

  /** The operator's token. */
  async token(): Promise<string> {
    return (await readFile(join(this.#root, 'data', 'token'), 'utf8')).trim()
  }

  /** Sends a request as the operator and returns its JSON, or null if there is none. */
  async request(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.token()}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`)
    return response.status === 204 ? null : response.json()
  }

  /** A one-time login link. */
  async loginLink(): Promise<string> {
    const { path } = (await this.request('POST', '/api/login-links', {})) as { readonly path: string }
    return `${this.origin}${path}`
  }

  /** Creates a folder that can be opened as a project, and returns its path. */
  async folder(name: string): Promise<string> {
    const path = join(this.#root, 'work', name)
    await mkdir(path, { recursive: true })
    return path
  }

  /** Runs a command of Provost with this daemon's data, and returns its output. It must succeed. */
  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(BINARY, args, { cwd: this.#root, env: { ...this.#environment(), PROVOST_DATA: join(this.#root, 'data') } })
    return stdout
  }

  /** Stops the daemon and its kernels in order, as `provost down` does. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === null) return
    const gone = new Promise((done) => child.once('exit', done))
    await this.run('down')
    await gone
    this.#child = null
  }

  /** Kills the daemon without a shutdown. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((done) => child.once('exit', done))
    child.kill('SIGKILL')
    await gone
  }

  /** Suspends the daemon: connections stay open and get no response. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  /** Resumes the daemon. */
  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Restarts the daemon with the same data and address. */
  async restart(): Promise<void> {
    await this.kill()
    await this.#run(this.#address)
  }

  /** Kills the daemon, and runs this with the folder of its data before it is started again. */
  async restartAfter(change: (data: string) => Promise<void>): Promise<void> {
    await this.kill()
    await change(join(this.#root, 'data'))
    await this.#run(this.#address)
  }

  /** Kills the daemon and its kernels, which outlive it, and removes its files. */
  async end(): Promise<void> {
    await this.kill()
    // Supervisors are not killed: they end what runs below them when their kernel has ended.
    const supervisors = new Set<number>()
    for (const end = Date.now() + EXIT_MS; Date.now() < end; await sleep(20)) {
      // Before its exec, a kernel has the command line of the daemon.
      const own = await processesNaming(join(this.#root, 'data'))
      if (own.size === 0) break
      const kernels = withoutChildren(own)
      for (const pid of own.keys()) if (!kernels.includes(pid)) supervisors.add(pid)
      for (const pid of kernels.filter((pid) => !supervisors.has(pid))) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It has already exited.
        }
      }
    }
    // A process of a run may still be writing.
    const how = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const
    for (const scratch of await this.#scratchFolders()) await rm(scratch, how)
    await rm(this.#root, how)
  }

  /** The temporary folders of its kernels, which killed kernels cannot remove. */
  async #scratchFolders(): Promise<readonly string[]> {
    const kernels = join(this.#root, 'data', 'kernels')
    const names = await readdir(kernels).catch(() => [])
    const paths = names.map((name) => readFile(join(kernels, name, 'scratch'), 'utf8').catch(() => ''))
    return (await Promise.all(paths)).filter((scratch) => scratch !== '')
  }

  /** The process id of the daemon. */
  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the daemon is not running')
    return pid
  }

  /** The kernels of this daemon. */
  async kernels(): Promise<readonly number[]> {
    return withoutChildren(await this.processes())
  }

  /** The kernels and the supervisors of their runs, which are copies of them, with their parents. */
  async processes(): Promise<ReadonlyMap<number, number>> {
    return processesNaming(join(this.#root, 'data', 'kernels'))
  }

  #environment(): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], HOME: this.#root, SHELL: '/bin/bash', LANG: 'C.UTF-8', PROVOST_CONFIG: join(this.#root, 'config.toml') }
  }

  async #run(listen: string): Promise<void> {
    const child = spawn(BINARY, ['serve', '--listen', listen, '--data', join(this.#root, 'data'), ...this.#args], {
      cwd: this.#root,
      env: this.#environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => (this.#output = (this.#output + bytes.toString()).slice(-4000)))
    }
    for (const end = Date.now() + START_MS; Date.now() < end; await sleep(50)) {
      if (child.exitCode !== null) break
      if (await this.#isUp(child.pid)) return
    }
    throw new Error(`the daemon did not start; its output:\n${this.#output}`)
  }

  /** Whether this process has published its address and responds there. */
  async #isUp(pid: number | undefined): Promise<boolean> {
    try {
      const text = await readFile(join(this.#root, 'data', 'daemon.json'), 'utf8')
      const state = JSON.parse(text) as { readonly pid: number; readonly address: string }
      if (state.pid !== pid) return false
      this.#address = state.address
      return (await fetch(`${this.origin}/api/health`)).ok
    } catch {
      return false
    }
  }
}

/** `test` with a daemon for each test. */
export const test = base.extend<{ daemon: Daemon }>({
  daemon: async ({}, use) => {
    const daemon = await Daemon.start()
    await use(daemon)
    await daemon.end()
  },
})

export { expect }
export type { Page }

/** Logs the page in and waits until it is live. */
export async function login(page: Page, daemon: Daemon, hash = ''): Promise<void> {
  await page.goto(await daemon.loginLink())
  if (hash !== '') await page.goto(`${daemon.origin}/${hash}`)
  await expectLive(page)
}

/** Waits until the page is live. */
export async function expectLive(page: Page): Promise<void> {
  await expect(connectionChip(page)).toHaveAttribute('data-connection', 'live', { timeout: 15_000 })
}

/** The connection state in the header. */
export function connectionChip(page: Page) {
  return page.locator('[data-connection]')
}

/** The open projects in the sidebar. */
export function projects(page: Page) {
  return page.getByRole('list', { name: 'Open projects' }).getByRole('listitem')
}

/** The events in the timeline. */
export function events(page: Page) {
  return page.getByRole('listbox', { name: 'Events' }).getByRole('option')
}

/** The sequence numbers of the events on screen. */
export async function seqs(page: Page): Promise<readonly number[]> {
  return page.locator('[data-seq]').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-seq'))))
}

/** The approval drawer. */
export function drawer(page: Page) {
  return page.getByRole('complementary', { name: 'Approvals' })
}

/** Clicks an answer button of the drawer, once it is enabled. */
export async function clickAnswer(page: Page, name: string | RegExp): Promise<void> {
  const button = drawer(page).getByRole('button', { name: name === 'Deny' ? /^Deny( D)?$/ : name })
  await expect(button).toHaveAttribute('aria-disabled', 'false')
  await button.click()
}

/** Opens a folder with the button in the sidebar. */
export async function openProject(page: Page, path: string): Promise<void> {
  await page.getByRole('button', { name: 'Open a project' }).click()
  const form = page.getByRole('navigation', { name: 'Projects' })
  await form.getByLabel('Path of the folder').fill(path)
  await form.getByRole('button', { name: 'Open', exact: true }).click()
}

/** The processes with a path in this folder in their command line, and their parents. */
async function processesNaming(folder: string): Promise<ReadonlyMap<number, number>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = new Map<number, number>()
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (!line.split('\0').some((word) => word.startsWith(folder))) continue
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    found.set(Number(pid), Number(/.*\) \S+ (\d+)/s.exec(stat)?.[1]))
  }
  return found
}

/** The processes whose parent is none of them. */
function withoutChildren(parents: ReadonlyMap<number, number>): readonly number[] {
  return [...parents].filter(([, parent]) => !parents.has(parent)).map(([pid]) => pid)
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
