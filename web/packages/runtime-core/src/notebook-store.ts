/**
 * A notebook in the page: its documents as the daemon confirmed them, with the page's own edits in
 * them until they are. What an app, a runtime and an editor share.
 *
 * All rules are in the module, which is the daemon's own code. This class holds what it says in maps,
 * tells listeners, and moves messages between it and the connection.
 */
import { DocumentMaps } from './document-maps.ts'
import { newId } from './ids.ts'
import { Journal } from './journal.ts'
import { loadModule, ModuleInstance } from './notebook-module.ts'
import type { Greeting, SyncConnection, SyncState } from './sync-connection.ts'
import type { AgentOrder, Cell, CellId, ClientId, ClientReply, Execution, ExecutionId, Notebook, NotebookCommand, NotebookId, NotebookPresence, OutputPart, RejectedCommands, RuntimeCapabilities, RuntimeLocation, RuntimeSession, RuntimeSessionId } from './types.ts'

/** What became of commands. */
export type SubmitResult = { readonly kind: 'confirmed' } | { readonly kind: 'rejected'; readonly code: string; readonly error: string }

/** A runtime to start. Who it acts for is not here: the daemon takes that from the connection. */
export type AgentStart = {
  readonly session: RuntimeSessionId
  readonly runtimeId: string
  readonly runtimeType: string
  readonly slot: string | null
  readonly place: RuntimeLocation
  readonly capabilities: RuntimeCapabilities
}

/** What a runtime hears. */
export type AgentListener = { readonly order: (order: AgentOrder) => void; readonly input: (execution: ExecutionId, text: string) => void }

/** How a store is opened. */
export type OpenOptions = { readonly connection: SyncConnection; readonly notebook: NotebookId; readonly module?: WebAssembly.Module }

/** See the head of this file. */
export class NotebookStore {
  readonly id: NotebookId
  /** The authenticated principal. */
  readonly clientId: ClientId
  readonly #connection: SyncConnection
  readonly #instance: ModuleInstance
  readonly #journal: Journal
  readonly #documents = new DocumentMaps()
  readonly #listeners = new Set<() => void>()
  readonly #rejectionListeners = new Set<(rejected: RejectedCommands) => void>()
  readonly #waiting = new Map<string, (result: SubmitResult) => void>()
  readonly #agents = new Map<RuntimeSessionId, AgentListener>()
  readonly #others = new Map<number, NotebookPresence>()
  #greeting: Greeting
  #version = 0
  #isLive = false
  #pending = 0
  #backlog = 0
  #failure: string | null = null
  /** Journaled messages go out one after the other. */
  #sending: Promise<void> = Promise.resolve()
  /** Incremented with each connection: a message of an older one is not sent over another. */
  #generation = 0
  #presence: unknown = null
  readonly #stopListening: () => void

  private constructor(options: OpenOptions, greeting: Greeting, instance: ModuleInstance, journal: Journal) {
    this.id = options.notebook
    this.clientId = greeting.clientId
    this.#connection = options.connection
    this.#greeting = greeting
    this.#instance = instance
    this.#journal = journal
    this.#stopListening = options.connection.subscribe(() => this.#notify())
  }

  /** Opens a notebook. The documents arrive later: `isLoaded` tells. */
  static async open(options: OpenOptions): Promise<NotebookStore> {
    const [greeting, module] = await Promise.all([options.connection.greeting(), options.module ?? loadModule()])
    const [instance, { journal, left }] = await Promise.all([ModuleInstance.create(module), Journal.open(greeting.clientId, options.notebook)])
    const store = new NotebookStore(options, greeting, instance, journal)
    store.#take(instance.call({ open: { notebook: options.notebook, principal: greeting.clientId, journal: left } }))
    options.connection.follow(options.notebook, {
      connected: (again) => store.#connected(again),
      disconnected: () => store.#disconnected(),
      received: (message) => store.#take(instance.receive(message)),
      presence: (presence) => store.#seen(presence),
      input: (execution, text) => store.#agents.forEach((agent) => agent.input(execution as ExecutionId, text)),
      unsubscribed: (error) => store.#fail(error),
    })
    return store
  }

  /** Follows the notebook no more. What is not confirmed stays in the journal. */
  close(): void {
    this.#stopListening()
    this.#connection.unfollow(this.id)
    this.#journal.close()
    this.#listeners.clear()
  }

  /** Calls a function after each change. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls a function when commands are rejected after they were submitted. */
  onRejected(listener: (rejected: RejectedCommands) => void): () => void {
    this.#rejectionListeners.add(listener)
    return () => this.#rejectionListeners.delete(listener)
  }

  /** Another number after each change. */
  get version(): number {
    return this.#version
  }

  get connection(): SyncState {
    return this.#connection.state
  }

  /** Whether the store has all events up to now. */
  get isLive(): boolean {
    return this.#isLive
  }

  get isLoaded(): boolean {
    return this.notebook !== null
  }

  get canWrite(): boolean {
    return this.#greeting.canWrite
  }

  /** How many commands are not confirmed. */
  get pending(): number {
    return this.#pending
  }

  /** Why the daemon does not serve this notebook. */
  get failure(): string | null {
    return this.#failure
  }

  /** Bytes of outputs that runtimes of this page have not sent yet: they print no more while there are many. */
  get backlog(): number {
    return this.#backlog
  }

  get notebook(): Notebook | null {
    return this.#documents.notebook
  }

  /** The cells that were not deleted, in their order. */
  get cells(): readonly Cell[] {
    return this.#documents.cells
  }

  cell(id: CellId): Cell | null {
    return this.#documents.cell(id)
  }

  execution(id: ExecutionId): Execution | null {
    return this.#documents.execution(id)
  }

  /** The executions that have not ended, in the order of their requests. */
  get unfinished(): readonly Execution[] {
    return this.#documents.unfinished
  }

  /** The outputs of an execution that are shown. */
  outputs(id: ExecutionId): readonly OutputPart[] {
    return this.#documents.outputs(id)
  }

  get sessions(): readonly RuntimeSession[] {
    return this.#documents.sessions
  }

  session(id: RuntimeSessionId): RuntimeSession | null {
    return this.#documents.session(id)
  }

  /** The active session of a slot; of the first one if none is named. */
  activeSession(slot?: string): RuntimeSession | null {
    const slots = this.notebook?.slots ?? []
    const found = slot === undefined ? slots[0] : slots.find(({ name }) => name === slot)
    return found?.session === undefined ? null : this.session(found.session)
  }

  /** What others do here, by connection. */
  get others(): readonly NotebookPresence[] {
    return [...this.#others.values()]
  }

  /** Tells the others what this page does. */
  setPresence(data: unknown): void {
    this.#presence = data
    this.#connection.send({ type: 'presence', notebook: this.id, data })
  }

  /** Submits commands, which are applied together or not at all. Edits are shown at once. */
  submit(...commands: readonly NotebookCommand[]): Promise<SubmitResult> {
    const id = newId()
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      const reply = this.#instance.call({ submit: { id, commands } })
      this.#take(reply)
      if (reply.error !== undefined) this.#answer(id, { kind: 'rejected', ...reply.error })
    })
  }

  /** A position behind one cell and before another; null for the ends. */
  positionBetween(after: string | null, before: string | null): string {
    const { position, error } = this.#instance.call({ position: { after, before } })
    if (position === undefined) throw new Error(error?.error ?? 'there is no such position')
    return position
  }

  /** The hash of all documents: equal where the daemon's is. */
  stateHash(): string {
    return this.#instance.call({ hash: {} }).hash ?? ''
  }

  /** The BLAKE3 hash of bytes, which names an artifact. */
  hashBytes(bytes: Uint8Array): string {
    return this.#instance.hash(bytes)
  }

  /** Stores bytes as an artifact of the notebook. */
  async putArtifact(hash: string, mime: string, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void> {
    const response = await this.#connection.request(this.#artifactPath(hash), { method: 'PUT', headers: { 'content-type': mime }, body: bytes, signal })
    if (!response.ok) throw new Error(`the artifact was refused with status ${String(response.status)}`)
  }

  /** The bytes of an artifact. */
  async getArtifact(hash: string): Promise<Blob> {
    const response = await this.#connection.request(this.#artifactPath(hash), { method: 'GET' })
    if (!response.ok) throw new Error(`the artifact cannot be read: status ${String(response.status)}`)
    return response.blob()
  }

  #artifactPath(hash: string): string {
    return `/api/notebooks/${this.id}/artifacts/${hash}`
  }

  /** Starts a runtime on this store. */
  startAgent(start: AgentStart, listener: AgentListener): void {
    this.#agents.set(start.session, listener)
    this.#take(this.#instance.call({ startAgent: start }))
  }

  /** Reports what a runtime did. */
  report(session: RuntimeSessionId, report: unknown): void {
    this.#take(this.#instance.call({ report: { session, report } }))
  }

  /** Lets runtimes do what is due, such as renewing their leases. */
  tick(): void {
    this.#take(this.#instance.call({ tick: {} }))
  }

  #connected(greeting: Greeting): void {
    this.#greeting = greeting
    this.#generation++
    this.#others.clear()
    this.#failure = null
    this.#take(this.#instance.call({ connect: {} }))
    if (this.#presence !== null) this.setPresence(this.#presence)
  }

  #disconnected(): void {
    this.#generation++
    this.#others.clear()
    this.#take(this.#instance.call({ disconnect: {} }))
  }

  #seen(presence: NotebookPresence): void {
    if (presence.connection === this.#greeting.connection) return
    if (presence.data === null) this.#others.delete(presence.connection)
    else this.#others.set(presence.connection, presence)
    this.#notify()
  }

  #fail(error: string): void {
    this.#failure = error
    this.#notify()
  }

  #answer(id: string, result: SubmitResult): void {
    this.#waiting.get(id)?.(result)
    this.#waiting.delete(id)
  }

  /** Does what a reply says. */
  #take(reply: ClientReply): void {
    this.#isLive = reply.isLive
    this.#pending = reply.pending
    this.#backlog = reply.backlog
    const hasChanged = this.#documents.apply(reply)
    for (const message of reply.messages) this.#connection.send(message)
    if (reply.journal !== undefined) this.#send(reply.journal, reply.journaled)
    for (const id of reply.confirmed) this.#answer(id, { kind: 'confirmed' })
    for (const rejected of reply.rejected) {
      this.#answer(rejected.id, { kind: 'rejected', code: rejected.code, error: rejected.error })
      for (const listener of this.#rejectionListeners) listener(rejected)
    }
    for (const { session, order } of reply.orders) {
      const agent = this.#agents.get(session)
      if ('stopped' in order) this.#agents.delete(session)
      agent?.order(order)
    }
    if (hasChanged || reply.journal !== undefined) this.#notify()
  }

  /** Sends messages once the journal is stored. */
  #send(journal: unknown, messages: readonly unknown[]): void {
    const generation = this.#generation
    // A page without room for a journal still sends.
    const stored = this.#journal.write(journal).catch(() => undefined)
    if (messages.length === 0) return
    this.#sending = this.#sending.then(() => stored).then(() => {
      if (generation === this.#generation) for (const message of messages) this.#connection.send(message)
    })
  }

  #notify(): void {
    this.#version++
    for (const listener of [...this.#listeners]) listener()
  }
}
