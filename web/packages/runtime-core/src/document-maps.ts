/** The documents of a notebook by view, and what is derived from them, computed when it is read. */
import type { Cell, CellId, ClientReply, Execution, ExecutionId, Notebook, OutputPage, OutputPart, RuntimeSession, RuntimeSessionId } from './types.ts'

const NO_PARTS: readonly OutputPart[] = []

/** See the head of this file. */
export class DocumentMaps {
  #notebook: Notebook | null = null
  readonly #cells = new Map<string, Cell>()
  readonly #executions = new Map<string, Execution>()
  /** By execution and number. */
  readonly #pages = new Map<string, Map<number, OutputPage>>()
  /** The key of each page, so that it can be removed. */
  readonly #pageKeys = new Map<string, OutputPage>()
  readonly #sessions = new Map<string, RuntimeSession>()
  #order: readonly Cell[] | null = null
  #unfinished: readonly Execution[] | null = null
  #sessionList: readonly RuntimeSession[] | null = null
  readonly #outputs = new Map<string, readonly OutputPart[]>()

  /** Takes changed documents; whether there were any. */
  apply({ isEverything, documents }: ClientReply): boolean {
    if (isEverything === true) this.#clear()
    for (const { view, key, document } of documents) {
      switch (view) {
        case 'notebooks':
          this.#notebook = document?.view === view ? document.document : null
          break
        case 'cells':
          this.#order = null
          set(this.#cells, key, document?.view === view ? document.document : null)
          break
        case 'executions':
          this.#unfinished = null
          this.#outputs.delete(key)
          set(this.#executions, key, document?.view === view ? document.document : null)
          break
        case 'outputPages':
          this.#setPage(key, document?.view === view ? document.document : null)
          break
        case 'runtimeSessions':
          this.#sessionList = null
          set(this.#sessions, key, document?.view === view ? document.document : null)
          break
        case 'displays':
        case 'artifacts':
          break
        default:
          view satisfies never
      }
    }
    return isEverything === true || documents.length > 0
  }

  get notebook(): Notebook | null {
    return this.#notebook
  }

  get cells(): readonly Cell[] {
    this.#order ??= [...this.#cells.values()].filter((cell) => cell.deletedAt === undefined).sort((a, b) => compare(a.position, b.position) || compare(a.id, b.id))
    return this.#order
  }

  cell(id: CellId): Cell | null {
    return this.#cells.get(id) ?? null
  }

  execution(id: ExecutionId): Execution | null {
    return this.#executions.get(id) ?? null
  }

  get unfinished(): readonly Execution[] {
    this.#unfinished ??= [...this.#executions.values()].filter(({ status }) => status !== 'finished').sort((a, b) => a.count - b.count)
    return this.#unfinished
  }

  get sessions(): readonly RuntimeSession[] {
    this.#sessionList ??= [...this.#sessions.values()]
    return this.#sessionList
  }

  session(id: RuntimeSessionId): RuntimeSession | null {
    return this.#sessions.get(id) ?? null
  }

  /** The parts of an execution's outputs that were not cleared. */
  outputs(id: ExecutionId): readonly OutputPart[] {
    const known = this.#outputs.get(id)
    if (known !== undefined) return known
    const execution = this.#executions.get(id)
    const pages = this.#pages.get(id)
    if (execution === undefined || pages === undefined || execution.firstOutput >= execution.outputs) return NO_PARTS
    const shown = [...pages.values()].filter(({ page }) => page <= execution.lastPage).sort((a, b) => a.page - b.page)
    const parts = shown.flatMap((page) => page.parts).filter(({ ordinal }) => ordinal >= execution.firstOutput)
    this.#outputs.set(id, parts)
    return parts
  }

  #setPage(key: string, page: OutputPage | null): void {
    const before = this.#pageKeys.get(key)
    set(this.#pageKeys, key, page)
    const execution = (page ?? before)?.execution
    if (execution === undefined) return
    this.#outputs.delete(execution)
    const pages = this.#pages.get(execution) ?? new Map<number, OutputPage>()
    if (page !== null) pages.set(page.page, page)
    else if (before !== undefined) pages.delete(before.page)
    this.#pages.set(execution, pages)
  }

  #clear(): void {
    this.#notebook = null
    this.#order = this.#unfinished = this.#sessionList = null
    for (const map of [this.#cells, this.#executions, this.#pages, this.#pageKeys, this.#sessions, this.#outputs]) map.clear()
  }
}

function set<T>(map: Map<string, T>, key: string, value: T | null): void {
  if (value === null) map.delete(key)
  else map.set(key, value)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
