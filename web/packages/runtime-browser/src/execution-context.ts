/** What a handler of executions is given. */
import { newId, type AgentOrder, type CellId, type CellKind, type ExecutionId, type MimeBundle, type NotebookStore, type RuntimeSessionId } from '@provost/runtime-core'
import type { ArtifactUploader } from './artifacts.ts'

/** Representations by MIME type: text as a string, binary as base64, JSON as it is. */
export type Representations = Readonly<Record<string, unknown>>

/** How something is shown. */
export type DisplayOptions = { readonly metadata?: Readonly<Record<string, unknown>>; readonly displayId?: string }

/** What a handler can do with an execution. */
export type ExecutionContext = {
  readonly cell: { readonly id: CellId; readonly kind: CellKind; readonly source: string }
  readonly executionId: ExecutionId
  /** The number of the execution in the notebook. */
  readonly count: number
  /** Aborted when the execution is cancelled or the session is over. */
  readonly signal: AbortSignal
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  readonly display: (data: Representations, options?: DisplayOptions) => void
  readonly updateDisplay: (displayId: string, data: Representations, metadata?: Readonly<Record<string, unknown>>) => void
  /** The value of the last expression. */
  readonly result: (data: Representations, options?: DisplayOptions) => void
  readonly error: (name: string, value: string, traceback: readonly string[]) => void
  /** A new Markdown output; the returned function appends to it. */
  readonly markdown: (text: string) => (more: string) => void
  /** Clears the outputs, at once or with the next one. */
  readonly clear: (wait?: boolean) => void
  /** Asks the person for input. */
  readonly input: (prompt: string, secret?: boolean) => Promise<string>
  /** Waits while more is printed than the connection carries. */
  readonly drain: () => Promise<void>
}

/** Executes a cell. What it throws is shown as an error. */
export type ExecutionHandler = (context: ExecutionContext) => Promise<'ok' | 'error' | 'cancelled' | void> | 'ok' | 'error' | 'cancelled' | void

/** Handlers wait when this much was not sent. */
const MAX_BACKLOG_BYTES = 1024 * 1024

/** The context of one execution. */
export class HandlerContext implements ExecutionContext {
  readonly cell: ExecutionContext['cell']
  readonly executionId: ExecutionId
  readonly count: number
  readonly #store: NotebookStore
  readonly #session: RuntimeSessionId
  readonly #uploader: ArtifactUploader
  readonly #abort = new AbortController()
  /** What waits for an upload, so that outputs keep their order; null if nothing does. */
  #queue: Promise<void> | null = null
  #answers: ((text: string) => void)[] = []

  constructor(store: NotebookStore, session: RuntimeSessionId, request: Extract<AgentOrder, { execute: unknown }>['execute'], uploader: ArtifactUploader) {
    this.#store = store
    this.#session = session
    this.#uploader = uploader
    this.executionId = request.execution
    this.count = request.count
    this.cell = { id: request.cell, kind: request.kind, source: request.source }
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  readonly stdout = (text: string): void => this.#print('stdout', text)
  readonly stderr = (text: string): void => this.#print('stderr', text)
  readonly display = (data: Representations, options: DisplayOptions = {}): void => this.#show(false, data, options)
  readonly result = (data: Representations, options: DisplayOptions = {}): void => this.#show(true, data, options)

  readonly updateDisplay = (displayId: string, data: Representations, metadata: Readonly<Record<string, unknown>> = {}): void => {
    this.#reportData(data, (bundle) => ({ updateDisplay: { display: displayId, data: bundle, metadata } }))
  }

  readonly error = (name: string, value: string, traceback: readonly string[]): void => {
    this.#report({ error: { execution: this.executionId, output: newId(), name, value, traceback } })
  }

  readonly markdown = (text: string): ((more: string) => void) => {
    const output = newId()
    const report = (part: string, append: boolean): void => this.#report({ markdown: { execution: this.executionId, output, text: part, append } })
    report(text, false)
    return (more) => report(more, true)
  }

  readonly clear = (wait = false): void => this.#report({ clear: { execution: this.executionId, wait } })

  readonly input = (prompt: string, secret = false): Promise<string> =>
    new Promise((resolve, reject) => {
      this.#answers.push(resolve)
      this.signal.addEventListener('abort', () => reject(new Error('the execution was cancelled')), { once: true })
      this.#report({ askInput: { execution: this.executionId, input: { prompt, secret } } })
    })

  readonly drain = async (): Promise<void> => {
    await this.settle()
    while (this.#store.backlog > MAX_BACKLOG_BYTES && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        const stop = this.#store.subscribe(() => {
          stop()
          resolve()
        })
      })
    }
  }

  /** Passes on what the person typed. */
  answer(text: string): void {
    this.#answers.shift()?.(text)
  }

  abort(): void {
    this.#abort.abort()
  }

  /** Waits until everything was reported. */
  async settle(): Promise<void> {
    while (this.#queue !== null) await this.#queue
  }

  #print(name: 'stdout' | 'stderr', text: string): void {
    if (text !== '') this.#report({ stream: { execution: this.executionId, output: newId(), name, text } })
  }

  #show(isResult: boolean, data: Representations, { metadata = {}, displayId }: DisplayOptions): void {
    this.#reportData(data, (bundle) => ({ display: { execution: this.executionId, output: newId(), isResult, data: bundle, metadata, display: displayId ?? null } }))
  }

  /** Reports something with data, of which large images are uploaded first. */
  #reportData(data: Representations, report: (bundle: MimeBundle) => unknown): void {
    if (!this.#uploader.hasLarge(data)) return this.#report(report(inline(data)))
    this.#enqueue(async () => this.#store.report(this.#session, report(await this.#uploader.upload(data))))
  }

  #report(report: unknown): void {
    if (this.#queue === null) this.#store.report(this.#session, report)
    else this.#enqueue(async () => this.#store.report(this.#session, report))
  }

  #enqueue(run: () => Promise<void>): void {
    const next: Promise<void> = (this.#queue ?? Promise.resolve()).then(run).finally(() => {
      if (this.#queue === next) this.#queue = null
    })
    this.#queue = next
  }
}

/** Representations in the form of the wire. */
export function inline(data: Representations): MimeBundle {
  return Object.fromEntries(Object.entries(data).map(([mime, value]) => [mime, { inline: value }]))
}
