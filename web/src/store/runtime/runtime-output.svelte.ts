/**
 * Follows the output of a project's builds and dev server.
 *
 * The output is not in the event log. The kernel keeps it, and it is read by byte
 * offset: often while something runs, rarely otherwise.
 */
import type { ProjectId, RuntimeLogPage } from '../../proto/index.ts'
import { CancellableDelay, sendRequest } from '../../net/index.ts'
import { projectPath } from '../commands/command.ts'
import { LineBuffer, type OutputLine } from './line-buffer.ts'

/** The state of the output. */
export type RuntimeOutputState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly lines: readonly OutputLine[]; readonly dropped: number; readonly skippedBytes: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly lines: readonly OutputLine[] }

/** How often to poll, in milliseconds, while something runs and while nothing does. */
const BUSY_POLL_MS = 300
const IDLE_POLL_MS = 4_000
/** Whoever is further behind than this many bytes continues at the end. */
const MAX_BEHIND = 1024 * 1024
/** How many bytes before the end the first read begins. */
const INITIAL_BYTES = 256 * 1024

/** See the head of this file. */
export class RuntimeOutput {
  #state = $state.raw<RuntimeOutputState>({ kind: 'loading' })
  readonly #project: ProjectId
  readonly #isBusy: () => boolean
  readonly #onLoggedOut: () => void
  readonly #lines = new LineBuffer()
  #offset: number | null = null
  #skippedBytes = 0
  #stopped = false
  readonly #delay = new CancellableDelay()

  /** `isBusy` says whether something runs that may print. */
  constructor(project: ProjectId, isBusy: () => boolean, onLoggedOut: () => void) {
    this.#project = project
    this.#isBusy = isBusy
    this.#onLoggedOut = onLoggedOut
  }

  /** The current state. */
  get state(): RuntimeOutputState {
    return this.#state
  }

  /** Follows the output until `stop`. */
  async start(): Promise<void> {
    while (!this.#stopped) {
      // A hidden page does not read.
      if (!document.hidden && !(await this.#readPage())) continue
      await this.#delay.wait(this.#isBusy() && !document.hidden ? BUSY_POLL_MS : IDLE_POLL_MS)
    }
  }

  /** Polls now: something has started or ended. */
  pollNow(): void {
    this.#delay.cancel()
  }

  /** Stops following. */
  stop(): void {
    this.#stopped = true
    this.#delay.cancel()
  }

  /** Reads one page; true when there is no more for now. */
  async #readPage(): Promise<boolean> {
    const page = await this.#fetchPage(this.#offset ?? 0, this.#offset === null ? 1 : null)
    if (page === null || this.#stopped) return true
    if (this.#offset !== null && page.end < this.#offset) {
      // A new kernel begins a new output.
      this.#lines.clear()
      this.#skippedBytes = 0
      this.#offset = 0
      return false
    }
    if (this.#offset === null || page.end - this.#offset > MAX_BEHIND) {
      const start = Math.max(page.oldest, page.end - INITIAL_BYTES)
      this.#skippedBytes = start
      this.#lines.clear()
      this.#offset = start
      if (page.end > start) return false
    }
    if (this.#offset !== page.end || page.next > page.offset) this.#append(page)
    this.#state = { kind: 'loaded', lines: this.#lines.all(), dropped: this.#lines.dropped, skippedBytes: this.#skippedBytes }
    return this.#offset >= page.end
  }

  #append(page: RuntimeLogPage): void {
    this.#lines.push(decodeText(page.data))
    this.#offset = page.next
  }

  async #fetchPage(after: number, limit: number | null): Promise<RuntimeLogPage | null> {
    const query = limit === null ? '' : `&limit=${String(limit)}`
    const result = await sendRequest<RuntimeLogPage>({ method: 'GET', path: `${projectPath(this.#project)}/runtime/logs?after=${String(after)}${query}` })
    if (result.kind === 'ok') return result.value
    if (result.kind === 'loggedOut') this.#onLoggedOut()
    else {
      const reason = result.kind === 'refused' ? result.problem.error : `The daemon did not respond: ${result.reason}.`
      this.#state = { kind: 'failed', reason, lines: this.#lines.all() }
    }
    return null
  }
}

/** The text of a page. Bytes that are not UTF-8 become replacement characters. */
function decodeText(data: RuntimeLogPage['data']): string {
  if ('text' in data) return data.text
  const bytes = Uint8Array.from(data.hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return new TextDecoder().decode(bytes)
}
