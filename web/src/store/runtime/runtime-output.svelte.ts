/**
 * The end of what a project's builds and dev server printed, followed.
 *
 * It is not in the log of events: the kernel keeps it, and it is read by its
 * byte offsets, often while something runs and seldom while nothing does.
 */
import type { RuntimeLogPage, ProjectId } from '../../proto/index.ts'
import { sendRequest, CancellableDelay } from '../../net/index.ts'
import { Lines, type Line } from './line-buffer.ts'
import { projectPath } from '../commands/command.ts'

/** How far it has been read. */
export type TailState =
  | { readonly kind: 'reading' }
  | { readonly kind: 'here'; readonly lines: readonly Line[]; readonly gone: number; readonly skipped: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly lines: readonly Line[] }

/** How often to look, in milliseconds, while something runs and while nothing does. */
const SOON_MS = 300
const SELDOM_MS = 4_000
/** Whoever is further behind than this goes on at the end. */
const BEHIND = 1024 * 1024
/** Where the first reading begins, before the end. */
const FIRST = 256 * 1024

/** Follows one log, from `start` to `stop`. */
export class Tail {
  #state = $state.raw<TailState>({ kind: 'reading' })
  readonly #project: ProjectId
  readonly #busy: () => boolean
  readonly #loggedOut: () => void
  readonly #lines = new Lines()
  #at: number | null = null
  #skipped = 0
  #stopped = false
  readonly #delay = new CancellableDelay()

  /** `busy` says whether something runs that may print. */
  constructor(project: ProjectId, busy: () => boolean, loggedOut: () => void) {
    this.#project = project
    this.#busy = busy
    this.#loggedOut = loggedOut
  }

  /** How far it has been read. */
  get state(): TailState {
    return this.#state
  }

  /** Follows until `stop`. */
  async start(): Promise<void> {
    while (!this.#stopped) {
      // A page that nobody sees need not read.
      if (!document.hidden && !(await this.#read())) continue
      await this.#delay.wait(this.#busy() && !document.hidden ? SOON_MS : SELDOM_MS)
    }
  }

  /** Looks now: something has begun or ended. */
  nudge(): void {
    this.#delay.cancel()
  }

  /** Ends. */
  stop(): void {
    this.#stopped = true
    this.#delay.cancel()
  }

  /** Reads a piece; true when there is no more for now. */
  async #read(): Promise<boolean> {
    const page = await this.#page(this.#at ?? 0, this.#at === null ? 1 : null)
    if (page === null || this.#stopped) return true
    if (this.#at !== null && page.end < this.#at) {
      // Another kernel has another log.
      this.#lines.clear()
      this.#skipped = 0
      this.#at = 0
      return false
    }
    if (this.#at === null || page.end - this.#at > BEHIND) {
      const start = Math.max(page.oldest, page.end - FIRST)
      this.#skipped = start
      this.#lines.clear()
      this.#at = start
      if (page.end > start) return false
    }
    if (this.#at !== page.end || page.next > page.offset) this.#take(page)
    this.#state = { kind: 'here', lines: this.#lines.all(), gone: this.#lines.gone, skipped: this.#skipped }
    return this.#at >= page.end
  }

  #take(page: RuntimeLogPage): void {
    this.#lines.push(textOf(page.data))
    this.#at = page.next
  }

  async #page(after: number, limit: number | null): Promise<RuntimeLogPage | null> {
    const query = limit === null ? '' : `&limit=${String(limit)}`
    const result = await sendRequest<RuntimeLogPage>({ method: 'GET', path: `${projectPath(this.#project)}/runtime/logs?after=${String(after)}${query}` })
    if (result.kind === 'ok') return result.value
    if (result.kind === 'loggedOut') this.#loggedOut()
    else {
      const reason = result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.`
      this.#state = { kind: 'failed', reason, lines: this.#lines.all() }
    }
    return null
  }
}

/** What was printed. Bytes that are no text are shown as what they are. */
function textOf(data: RuntimeLogPage['data']): string {
  if ('text' in data) return data.text
  const bytes = Uint8Array.from(data.hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return new TextDecoder().decode(bytes)
}
