/**
 * A runtime in a page, on a store that the page already has.
 *
 * Claims, fences, leases and the order of what is sent are the module's; this class runs handlers,
 * passes what they print on, and ends the session with the page.
 */
import { newId, type AgentOrder, type ClientId, type ExecutionId, type NotebookStore, type RuntimeCapabilities, type RuntimeEndReason, type RuntimeSessionId, type RuntimeSessionStatus } from '@provost/runtime-core'
import { ArtifactUploader } from './artifacts.ts'
import { HandlerContext, type ExecutionHandler } from './execution-context.ts'
import { startTicking } from './ticks.ts'

/** What a runtime is. */
export type BrowserRuntimeOptions = {
  /** The runtime, the same over all of its sessions. */
  readonly runtimeId: string
  /** Its type, such as `echo`. */
  readonly runtimeType: string
  /** The store's `clientId`: there is no other value of this type. */
  readonly clientId: ClientId
  /** The session; a new one if absent. */
  readonly sessionId?: RuntimeSessionId
  /** The slot; the notebook's first if absent. */
  readonly slot?: string
}

/** What became of a runtime. */
export type RuntimeState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'active' }
  | { readonly kind: 'stopped'; readonly reason: RuntimeEndReason; readonly why: string | null }

/** See the head of this file. */
export type BrowserRuntimeAgent = {
  readonly sessionId: RuntimeSessionId
  readonly state: RuntimeState
  /** Calls a function after each change of the state. */
  readonly subscribe: (listener: () => void) => () => void
  /** Starts the session, which displaces the active one of the slot. */
  readonly start: (handler: ExecutionHandler) => void
  /** Reports what the language process is doing; a runtime is ready from its start. */
  readonly report: (status: RuntimeSessionStatus) => void
  /** Ends the session. Again is the same as once. */
  readonly shutdown: (why?: string) => void
}

/** A runtime that has not started. */
export function createBrowserRuntimeAgent(store: NotebookStore, capabilities: RuntimeCapabilities, options: BrowserRuntimeOptions): BrowserRuntimeAgent {
  if (options.clientId !== store.clientId) throw new Error('a runtime acts for the principal of its store: use `store.clientId`')
  return new StoreRuntime(store, capabilities, options)
}

class StoreRuntime implements BrowserRuntimeAgent {
  readonly sessionId: RuntimeSessionId
  readonly #store: NotebookStore
  readonly #capabilities: RuntimeCapabilities
  readonly #options: BrowserRuntimeOptions
  readonly #listeners = new Set<() => void>()
  readonly #running = new Map<ExecutionId, HandlerContext>()
  readonly #uploader: ArtifactUploader
  #state: RuntimeState = { kind: 'idle' }
  #stopTicking: (() => void) | null = null

  constructor(store: NotebookStore, capabilities: RuntimeCapabilities, options: BrowserRuntimeOptions) {
    this.#store = store
    this.#capabilities = capabilities
    this.#options = options
    this.sessionId = options.sessionId ?? newId()
    this.#uploader = new ArtifactUploader(store)
  }

  get state(): RuntimeState {
    return this.#state
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  start(handler: ExecutionHandler): void {
    if (this.#state.kind !== 'idle') throw new Error('a runtime is started once: create another one')
    const { runtimeId, runtimeType, slot } = this.#options
    this.#setState({ kind: 'active' })
    globalThis.addEventListener('pagehide', this.#endWithPage)
    this.#stopTicking = startTicking(() => this.#store.tick())
    const listener = {
      order: (order: AgentOrder) => this.#obey(order, handler),
      input: (execution: ExecutionId, text: string) => this.#running.get(execution)?.answer(text),
    }
    this.#store.startAgent({ session: this.sessionId, runtimeId, runtimeType, slot: slot ?? null, place: 'browser', capabilities: this.#capabilities }, listener)
    this.report('ready')
  }

  report(status: RuntimeSessionStatus): void {
    if (this.#state.kind === 'active') this.#store.report(this.sessionId, { status })
  }

  shutdown(why?: string): void {
    if (this.#state.kind === 'idle') return this.#stopped('shutdown', why ?? null)
    if (this.#state.kind === 'active') this.#store.report(this.sessionId, { shutdown: { reason: 'shutdown', why: why ?? null } })
  }

  readonly #endWithPage = (): void => this.shutdown('the page was closed')

  #obey(order: AgentOrder, handler: ExecutionHandler): void {
    if ('execute' in order) void this.#execute(order.execute, handler)
    else if ('interrupt' in order) this.#running.get(order.interrupt.execution)?.abort()
    else this.#stopped(order.stopped.reason, order.stopped.why)
  }

  async #execute(request: Extract<AgentOrder, { execute: unknown }>['execute'], handler: ExecutionHandler): Promise<void> {
    const { execution } = request
    const context = new HandlerContext(this.#store, this.sessionId, request, this.#uploader)
    this.#running.set(execution, context)
    let [outcome, why]: ['ok' | 'error' | 'cancelled', string | null] = ['ok', null]
    try {
      // What ran in another page ended with it.
      if (request.isResumed) throw new Error('the page in which it ran was closed')
      const result = await handler(context)
      outcome = result === 'error' || result === 'cancelled' ? result : 'ok'
    } catch (error) {
      outcome = context.signal.aborted ? 'cancelled' : 'error'
      why = error instanceof Error ? error.message : String(error)
      if (outcome === 'error') context.error(error instanceof Error ? error.name : 'Error', why, error instanceof Error ? (error.stack ?? '').split('\n') : [])
    }
    await context.settle()
    this.#running.delete(execution)
    this.#store.report(this.sessionId, { finished: { execution, outcome, why } })
  }

  #stopped(reason: RuntimeEndReason, why: string | null): void {
    globalThis.removeEventListener('pagehide', this.#endWithPage)
    this.#stopTicking?.()
    for (const context of this.#running.values()) context.abort()
    this.#setState({ kind: 'stopped', reason, why })
  }

  #setState(state: RuntimeState): void {
    this.#state = state
    for (const listener of [...this.#listeners]) listener()
  }
}
