/**
 * A daemon for one test, in a folder of its own, and a way into it.
 *
 * It is the real program; nothing is simulated. Whatever a test does, its
 * daemon is killed and its folder removed at the end.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test as base, expect, type Page } from '@playwright/test'

const BINARY = resolve(process.env['PROVOST_BIN'] ?? join(import.meta.dirname, '../../target/debug/provost'))
const START_MS = 15_000

/** A running daemon. */
export class Daemon {
  readonly #root: string
  readonly #args: readonly string[]
  #child: ChildProcess | null = null
  #address = ''
  #said = ''

  private constructor(root: string, args: readonly string[]) {
    this.#root = root
    this.#args = args
  }

  /** Starts one on a free port. */
  static async start(...args: readonly string[]): Promise<Daemon> {
    return Daemon.configured('', ...args)
  }

  /** Starts one with a configuration. */
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

  /** Where it listens, as an origin. */
  get origin(): string {
    return `http://${this.#address}`
  }

  /** The operator's token. */
  async token(): Promise<string> {
    return (await readFile(join(this.#root, 'data', 'token'), 'utf8')).trim()
  }

  /** Asks as the operator and returns the JSON of a good answer, or null if it has none. */
  async ask(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.token()}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`)
    return response.status === 204 ? null : response.json()
  }

  /** A link that logs a browser in, once. */
  async loginLink(): Promise<string> {
    const { path } = (await this.ask('POST', '/api/login-links', {})) as { readonly path: string }
    return `${this.origin}${path}`
  }

  /** Makes a folder that can be opened as a project, and returns its path. */
  async folder(name: string): Promise<string> {
    const path = join(this.#root, 'work', name)
    await mkdir(path, { recursive: true })
    return path
  }

  /** Kills it as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((done) => child.once('exit', done))
    child.kill('SIGKILL')
    await gone
  }

  /** Stops it in its tracks: it closes nothing and answers nothing. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  /** Lets it go on. */
  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Starts it again, with the same data at the same address. */
  async restart(): Promise<void> {
    await this.kill()
    await this.#run(this.#address)
  }

  /** Kills it and its kernels, which outlive it, and removes all it has written. */
  async end(): Promise<void> {
    await this.kill()
    for (const pid of await this.kernels()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself in the meantime.
      }
    }
    // What the kernels ran may still be writing its last lines.
    const how = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const
    for (const scratch of await this.#scratches()) await rm(scratch, how)
    await rm(this.#root, how)
  }

  /** Where its kernels have temporary files, which those that are killed cannot remove. */
  async #scratches(): Promise<readonly string[]> {
    const places = join(this.#root, 'data', 'kernels')
    const names = await readdir(places).catch(() => [])
    const notes = names.map((name) => readFile(join(places, name, 'scratch'), 'utf8').catch(() => ''))
    return (await Promise.all(notes)).filter((scratch) => scratch !== '')
  }

  /** The process of the daemon itself. */
  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the daemon does not run')
    return pid
  }

  /** The kernels of this daemon: processes whose place is in its folder. */
  async kernels(): Promise<readonly number[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const own = await Promise.all(
      pids.map(async (pid) => {
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        return line.split('\0').some((word) => word.startsWith(join(this.#root, 'data', 'kernels')))
      }),
    )
    return pids.filter((_, index) => own[index]).map(Number)
  }

  async #run(listen: string): Promise<void> {
    const child = spawn(BINARY, ['serve', '--listen', listen, '--data', join(this.#root, 'data'), ...this.#args], {
      cwd: this.#root,
      env: { PATH: process.env['PATH'], HOME: this.#root, SHELL: '/bin/bash', LANG: 'C.UTF-8', PROVOST_CONFIG: join(this.#root, 'config.toml') },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => (this.#said = (this.#said + bytes.toString()).slice(-4000)))
    }
    for (const end = Date.now() + START_MS; Date.now() < end; await sleep(50)) {
      if (child.exitCode !== null) break
      if (await this.#isUp(child.pid)) return
    }
    throw new Error(`the daemon did not start; it said:\n${this.#said}`)
  }

  /** Whether this very process has said where it listens, and answers there. */
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

/** The tests' own `test`: each has a daemon. */
export const test = base.extend<{ daemon: Daemon }>({
  daemon: async ({}, use) => {
    const daemon = await Daemon.start()
    await use(daemon)
    await daemon.end()
  },
})

export { expect }
export type { Page }

/** Logs the page in and waits until it follows the log. */
export async function login(page: Page, daemon: Daemon, hash = ''): Promise<void> {
  await page.goto(await daemon.loginLink())
  if (hash !== '') await page.goto(`${daemon.origin}/${hash}`)
  await isLive(page)
}

/** Waits until the page says that it is live. */
export async function isLive(page: Page): Promise<void> {
  await expect(chip(page)).toHaveAttribute('data-connection', 'live', { timeout: 15_000 })
}

/** The state of the connection, in the header. */
export function chip(page: Page) {
  return page.locator('[data-connection]')
}

/** The open projects in the list. */
export function projects(page: Page) {
  return page.getByRole('list', { name: 'Open projects' }).getByRole('listitem')
}

/** The events in the timeline. */
export function events(page: Page) {
  return page.getByRole('listbox', { name: 'Events' }).getByRole('option')
}

/** The places in the log of the events on screen. */
export async function seqs(page: Page): Promise<readonly number[]> {
  return page.locator('[data-seq]').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-seq'))))
}

/** The drawer with the requests. */
export function drawer(page: Page) {
  return page.getByRole('complementary', { name: 'Requests' })
}

/** A button of the drawer, once it may be pressed. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  const button = drawer(page).getByRole('button', { name: name === 'Deny' ? /^Deny( D)?$/ : name })
  await expect(button).toHaveAttribute('aria-disabled', 'false')
  await button.click()
}

/** Opens a folder through the button beside the list. */
export async function openProject(page: Page, path: string): Promise<void> {
  await page.getByRole('button', { name: 'Open a project' }).click()
  const form = page.getByRole('navigation', { name: 'Projects' })
  await form.getByLabel('Path of the folder').fill(path)
  await form.getByRole('button', { name: 'Open', exact: true }).click()
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
