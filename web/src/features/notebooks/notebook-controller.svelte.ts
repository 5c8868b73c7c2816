/**
 * One notebook on the screen: the shared store as reactive state, the selected cell and what keys and
 * buttons do. The runtime of this page uses the same store.
 */
import { createBrowserRuntimeAgent, runEcho, type BrowserRuntimeAgent, type RuntimeState } from '@provost/runtime-browser'
import { newId, NotebookStore, SyncConnection, type Cell, type CellKind, type Execution, type NotebookCommand, type NotebookPresence, type OutputPart, type RejectedCommands, type RuntimeSession, type SyncState } from '@provost/runtime-core'
import type { CellId, ExecutionId, NotebookId } from '../../proto/index.ts'

/** Keys go to the cells, or into the text of one. */
export type NotebookMode = 'command' | 'edit'

const ALL_CELLS = { canExecuteCode: true, canExecuteSql: true, canExecuteAi: false }

/** See the head of this file. */
export class NotebookController {
  readonly store: NotebookStore
  readonly #connection: SyncConnection
  #version = $state(0)
  #selected = $state.raw<CellId | null>(null)
  #mode = $state.raw<NotebookMode>('command')
  #rejected = $state.raw<RejectedCommands | null>(null)
  #refused = $state.raw<string | null>(null)
  #runtime = $state.raw<BrowserRuntimeAgent | null>(null)
  #runtimeState = $state.raw<RuntimeState>({ kind: 'idle' })
  #frame = 0
  #lastDeleted: CellId | null = null

  private constructor(store: NotebookStore, connection: SyncConnection) {
    this.store = store
    this.#connection = connection
    store.subscribe(() => this.#scheduleUpdate())
    store.onRejected((rejected) => (this.#rejected = rejected))
    store.setPresence({ cell: null })
  }

  /** Opens a notebook over a connection of its own. */
  static async open(notebook: NotebookId, request: (path: string, init: RequestInit) => Promise<Response>): Promise<NotebookController> {
    const connection = new SyncConnection({ request })
    try {
      return new NotebookController(await NotebookStore.open({ connection, notebook }), connection)
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /** Ends the page's runtime and the connection. */
  close(): void {
    cancelAnimationFrame(this.#frame)
    this.#runtime?.shutdown('the notebook was closed')
    this.store.close()
    this.#connection.close()
  }

  /** Once per frame: a cell that prints much must not draw for each line. */
  #scheduleUpdate(): void {
    if (this.#frame !== 0) return
    const update = (): void => {
      this.#frame = 0
      this.#version++
    }
    // A hidden page has no frames, and nothing to draw.
    this.#frame = document.hidden ? 0 : requestAnimationFrame(update)
    if (this.#frame === 0) update()
  }

  #read<T>(select: (store: NotebookStore) => T): T {
    void this.#version
    return select(this.store)
  }

  get title(): string {
    return this.#read((store) => store.notebook?.title ?? '')
  }

  get language(): string {
    return this.#read((store) => store.notebook?.language ?? '')
  }

  get isLoaded(): boolean {
    return this.#read((store) => store.isLoaded)
  }

  get isDeleted(): boolean {
    return this.#read((store) => store.notebook?.deletedAt !== undefined)
  }

  get failure(): string | null {
    return this.#read((store) => store.failure)
  }

  get connection(): SyncState {
    return this.#read((store) => store.connection)
  }

  get pending(): number {
    return this.#read((store) => store.pending)
  }

  get cells(): readonly Cell[] {
    return this.#read((store) => store.cells)
  }

  get unfinished(): readonly Execution[] {
    return this.#read((store) => store.unfinished)
  }

  get session(): RuntimeSession | null {
    return this.#read((store) => store.activeSession())
  }

  get others(): readonly NotebookPresence[] {
    return this.#read((store) => store.others)
  }

  execution(id: ExecutionId | undefined): Execution | null {
    return id === undefined ? null : this.#read((store) => store.execution(id))
  }

  outputs(id: ExecutionId | undefined): readonly OutputPart[] {
    return id === undefined ? [] : this.#read((store) => store.outputs(id))
  }

  get selected(): CellId | null {
    return this.#selected
  }

  get mode(): NotebookMode {
    return this.#mode
  }

  /** What was typed and does not hold any more, until it is dismissed. */
  get rejected(): RejectedCommands | null {
    return this.#rejected
  }

  /** Why the last command was refused. */
  get refused(): string | null {
    return this.#refused
  }

  /** The runtime of this page. */
  get runtimeState(): RuntimeState {
    return this.#runtimeState
  }

  /** Whether the active runtime is the one in this page. */
  get isOwnRuntime(): boolean {
    return this.#runtime !== null && this.session?.id === this.#runtime.sessionId
  }

  select(cell: CellId | null, mode: NotebookMode = 'command'): void {
    this.#selected = cell
    this.#mode = mode
    this.store.setPresence({ cell })
  }

  /** Selects the cell after the selected one, or before it. */
  move(step: 1 | -1): void {
    const index = this.cells.findIndex(({ id }) => id === this.#selected)
    const next = this.cells[Math.min(Math.max(index + step, 0), this.cells.length - 1)]
    if (next !== undefined) this.select(next.id)
  }

  dismiss(): void {
    this.#rejected = null
    this.#refused = null
  }

  /** Submits commands, and keeps the reason if they are refused. */
  async submit(...commands: readonly NotebookCommand[]): Promise<boolean> {
    const result = await this.store.submit(...commands)
    if (result.kind === 'rejected') this.#refused = result.error
    return result.kind === 'confirmed'
  }

  /** Adds a cell before or after another one, at the end if there is none, and selects it. */
  addCell(kind: CellKind, place: 'before' | 'after', anchor: CellId | null = this.#selected): CellId {
    const { cells } = this.store
    const found = cells.findIndex(({ id }) => id === anchor)
    const index = found === -1 ? cells.length : place === 'before' ? found : found + 1
    const cell: CellId = newId()
    const position = this.store.positionBetween(cells[index - 1]?.position ?? null, cells[index]?.position ?? null)
    void this.submit({ name: 'createCell', args: { cell, kind, position, source: '', metadata: {} } })
    this.select(cell)
    return cell
  }

  moveCell(cell: CellId, step: 1 | -1): void {
    const { cells } = this.store
    const index = cells.findIndex(({ id }) => id === cell)
    const [before, after] = step === 1 ? [cells[index + 1], cells[index + 2]] : [cells[index - 2], cells[index - 1]]
    if (index === -1 || (step === 1 ? before : after) === undefined) return
    const position = this.store.positionBetween(before?.position ?? null, after?.position ?? null)
    void this.submit({ name: 'moveCell', args: { cell, position } })
  }

  deleteCell(cell: CellId): void {
    const index = this.cells.findIndex(({ id }) => id === cell)
    const next = this.cells[index + 1] ?? this.cells[index - 1]
    this.#lastDeleted = cell
    void this.submit({ name: 'deleteCell', args: { cell } })
    this.select(next?.id ?? null)
  }

  /** Brings the cell back that was deleted last here. */
  restoreCell(): void {
    const cell = this.#lastDeleted
    if (cell === null) return
    this.#lastDeleted = null
    void this.submit({ name: 'restoreCell', args: { cell } })
    this.select(cell)
  }

  setKind(cell: CellId, kind: CellKind): void {
    void this.submit({ name: 'setCellKind', args: { cell, kind } })
  }

  clearOutputs(cell: CellId): void {
    void this.submit({ name: 'clearCellOutputs', args: { cell } })
  }

  rename(title: string): void {
    void this.submit({ name: 'renameNotebook', args: { title } })
  }

  /** Requests the execution of a cell, as it is shown here. */
  run(cell: Cell): void {
    if (cell.kind === 'markdown' || cell.kind === 'raw') return
    void this.submit({ name: 'requestExecution', args: { execution: newId(), cell: cell.id, revision: cell.revision } })
  }

  runAll(): void {
    for (const cell of this.cells) this.run(cell)
  }

  /** Runs the selected cell and selects the next one, which is made if there is none. */
  runAndAdvance(): void {
    const index = this.cells.findIndex(({ id }) => id === this.#selected)
    const cell = this.cells[index]
    if (cell === undefined) return
    this.run(cell)
    const next = this.cells[index + 1]
    if (next !== undefined) this.select(next.id)
    else this.select(this.addCell('code', 'after'), 'edit')
  }

  cancel(execution: ExecutionId): void {
    void this.submit({ name: 'cancelExecution', args: { execution } })
  }

  cancelAll(): void {
    for (const { id } of this.unfinished) this.cancel(id)
  }

  answerInput(execution: ExecutionId, text: string): void {
    void this.submit({ name: 'answerInput', args: { execution, text } })
  }

  /** Starts a runtime in this page, on this store. It displaces the active one. */
  startEcho(): void {
    const runtime = createBrowserRuntimeAgent(this.store, ALL_CELLS, { runtimeId: `echo-${this.store.id}`, runtimeType: 'echo', clientId: this.store.clientId })
    runtime.subscribe(() => {
      if (this.#runtime === runtime) this.#runtimeState = runtime.state
    })
    this.#runtime = runtime
    runtime.start(runEcho)
  }

  stopRuntime(): void {
    this.#runtime?.shutdown()
  }
}
