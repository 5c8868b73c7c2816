/**
 * Commands that are not confirmed, in IndexedDB: they survive the crash of a tab.
 *
 * Each store has a record of its own, which is written before anything in it is sent. A lock that the
 * browser holds for as long as the page lives tells records of live pages from those that are left.
 * Where the browser has no locks (plain http on another machine), records are written and found again
 * by the same tab only.
 */
import type { NotebookId } from './types.ts'
import { newId } from './ids.ts'

const DATABASE = 'provost-notebooks'
const RECORDS = 'journals'

type JournalRecord = { readonly key: string; readonly scope: string; readonly journal: unknown }

/** The journal of one store. */
export class Journal {
  readonly #key: string
  readonly #scope: string
  readonly #database: IDBDatabase | null
  readonly #release: () => void
  #next: { readonly journal: unknown } | null = null
  #writing: Promise<void> | null = null

  private constructor(key: string, scope: string, database: IDBDatabase | null, release: () => void) {
    this.#key = key
    this.#scope = scope
    this.#database = database
    this.#release = release
  }

  /** Opens a journal for a principal and a notebook, and takes over what an ended page left of one. */
  static async open(clientId: string, notebook: NotebookId): Promise<{ readonly journal: Journal; readonly left: unknown }> {
    const scope = `${clientId} ${notebook}`
    const database = await openDatabase().catch(() => null)
    const locks = globalThis.navigator?.locks as LockManager | undefined
    if (database === null) return { journal: new Journal(newId(), scope, null, () => undefined), left: null }
    if (locks === undefined) {
      const key = sessionKey(scope)
      const record = await readRecord(database, key)
      return { journal: new Journal(key, scope, database, () => undefined), left: record?.journal ?? null }
    }
    for (const record of await readRecords(database, scope)) {
      const release = await holdLock(locks, record.key)
      if (release === null) continue
      // Another page may have taken it over and removed it since.
      const current = await readRecord(database, record.key)
      if (current !== null) return { journal: new Journal(record.key, scope, database, release), left: current.journal }
      release()
    }
    const key = newId()
    const release = (await holdLock(locks, key)) ?? (() => undefined)
    return { journal: new Journal(key, scope, database, release), left: null }
  }

  /** Stores what is not confirmed, nothing if it is null. Resolves when it is stored. */
  write(journal: unknown): Promise<void> {
    if (this.#database === null) return Promise.resolve()
    this.#next = { journal }
    this.#writing ??= this.#writeAll(this.#database).finally(() => (this.#writing = null))
    return this.#writing
  }

  /** Lets another page take over what is in it. */
  close(): void {
    this.#release()
    this.#database?.close()
  }

  /** Writes the newest journal until there is no newer one. */
  async #writeAll(database: IDBDatabase): Promise<void> {
    for (let next = this.#next; next !== null; next = this.#next) {
      this.#next = null
      const { journal } = next
      await runTransaction<unknown>(database, 'readwrite', (records) =>
        journal === null ? records.delete(this.#key) : records.put({ key: this.#key, scope: this.#scope, journal } satisfies JournalRecord),
      )
    }
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(RECORDS, { keyPath: 'key' }).createIndex('scope', 'scope')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('IndexedDB cannot be opened'))
    request.onblocked = () => reject(new Error('IndexedDB is blocked by an older page'))
  })
}

function runTransaction<T>(database: IDBDatabase, mode: IDBTransactionMode, run: (records: IDBObjectStore) => { readonly result: T }): Promise<T> {
  return new Promise((resolve, reject) => {
    // Relaxed: it survives the page, and not the machine's power.
    const transaction = database.transaction(RECORDS, mode, { durability: 'relaxed' })
    const request = run(transaction.objectStore(RECORDS))
    transaction.oncomplete = () => resolve(request.result)
    transaction.onerror = () => reject(transaction.error ?? new Error('IndexedDB failed'))
    transaction.onabort = () => reject(transaction.error ?? new Error('IndexedDB failed'))
  })
}

async function readRecord(database: IDBDatabase, key: string): Promise<JournalRecord | null> {
  const record = await runTransaction<JournalRecord | undefined>(database, 'readonly', (records) => records.get(key) as IDBRequest<JournalRecord | undefined>)
  return record ?? null
}

function readRecords(database: IDBDatabase, scope: string): Promise<readonly JournalRecord[]> {
  return runTransaction(database, 'readonly', (records) => records.index('scope').getAll(scope) as IDBRequest<JournalRecord[]>)
}

/** Holds a lock until the returned function is called or the page ends; null if another page has it. */
function holdLock(locks: LockManager, key: string): Promise<(() => void) | null> {
  return new Promise((resolve) => {
    void locks.request(`provost-journal ${key}`, { ifAvailable: true }, (lock) => {
      if (lock === null) return resolve(null)
      return new Promise<void>((release) => resolve(release))
    })
  })
}

/** The key of this tab's record, which a reload keeps. */
function sessionKey(scope: string): string {
  const name = `provost-journal ${scope}`
  const known = sessionStorage.getItem(name)
  if (known !== null) return known
  const key = newId()
  sessionStorage.setItem(name, key)
  return key
}
