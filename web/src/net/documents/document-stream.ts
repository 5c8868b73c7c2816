/**
 * Follows the documents that the daemon folds from the log.
 *
 * A connection without a cursor gets a snapshot, then the changes of documents. The
 * cursor is opaque: it is sent back as it was received. When it is not of this log any
 * more, the daemon says `resync` and sends a snapshot instead.
 */
import type { DocumentChanges, DocumentChange, DocumentSnapshot, ErrorResponse } from '../../proto/index.ts'
import { ReconnectingStream, type ConnectionState, type StreamEnvironment } from '../stream/reconnecting-stream.ts'
import type { SseMessage } from '../stream/sse-parser.ts'

/** Receives documents and state changes. */
export type DocumentSink = {
  readonly state: (state: ConnectionState) => void
  /** A snapshot is complete: it replaces all documents. */
  readonly snapshot: (documents: readonly DocumentChange[]) => void
  /** Changes since the last message, and the ids of the commands that are in the log. Reading pauses until a promise resolves. */
  readonly changes: (changes: readonly DocumentChange[], commands: readonly string[]) => Promise<void> | undefined
  /** Everything up to now was received. */
  readonly live: () => void
  /** The documents are of another log, or too old: a snapshot follows. */
  readonly resync: () => void
  /** The request was refused, and there is no use in trying again. */
  readonly refused: (problem: ErrorResponse) => void
}

/** See the head of this file. */
export class DocumentStream {
  readonly #query: URLSearchParams
  readonly #sink: DocumentSink
  readonly #stream: ReconnectingStream
  #cursor: string | null = null
  /** The parts of a snapshot that is not complete yet; null outside of one. */
  #snapshot: DocumentChange[] | null = null
  /** The commands that are in the log since that snapshot. */
  #commands: string[] = []

  constructor(query: URLSearchParams, sink: DocumentSink, environment?: StreamEnvironment) {
    this.#query = query
    this.#sink = sink
    const source = {
      path: () => this.#path(),
      state: (state: ConnectionState) => sink.state(state),
      messages: (messages: readonly SseMessage[]) => this.#deliver(messages),
      refused: (problem: ErrorResponse) => this.#refuse(problem),
    }
    this.#stream = new ReconnectingStream(source, environment)
  }

  /** Connects, and stays connected until `stop` or until the login ends. May be started again after that. */
  async start(): Promise<void> {
    await this.#stream.start()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#stream.retryNow()
  }

  /** The page was hidden or shown. */
  exchangeSlot(): void {
    this.#stream.exchangeSlot()
  }

  /** Disconnects. */
  stop(): void {
    this.#stream.stop()
  }

  #path(): string {
    const query = new URLSearchParams(this.#query)
    if (this.#cursor !== null) query.set('after', this.#cursor)
    // A part of a snapshot is of no use without the rest.
    this.#snapshot = this.#cursor === null ? [] : null
    const text = query.toString()
    return text === '' ? '/api/documents' : `/api/documents?${text}`
  }

  #completeSnapshot(): void {
    const [snapshot, commands] = [this.#snapshot, this.#commands]
    if (snapshot === null) return
    this.#snapshot = null
    this.#commands = []
    this.#sink.snapshot(snapshot)
    if (commands.length > 0) void this.#sink.changes([], commands)
  }

  #refuse(problem: ErrorResponse): boolean {
    if (problem.status >= 500) return false
    this.#sink.refused(problem)
    return true
  }

  async #deliver(messages: readonly SseMessage[]): Promise<void> {
    for (const message of messages) await this.#handle(message)
  }

  #handle({ type, id, data }: SseMessage): Promise<void> | undefined {
    switch (type) {
      case 'resync':
        this.#cursor = null
        this.#snapshot = []
        this.#sink.resync()
        return undefined
      case 'snapshot': {
        const { documents } = decode<DocumentSnapshot>(data, 'documents')
        if (this.#snapshot === null) throw new Error('received a snapshot that was not requested')
        this.#snapshot.push(...documents)
        return undefined
      }
      case 'live':
        this.#cursor = id
        this.#completeSnapshot()
        this.#sink.live()
        return undefined
      case 'changes': {
        const { changes, commands } = decode<DocumentChanges>(data, 'changes')
        if (this.#snapshot !== null) {
          // What changed while the snapshot was read is a part of it.
          this.#snapshot.push(...changes)
          this.#commands.push(...commands)
          return undefined
        }
        // A batch that is only a part of the changes up to an event has no cursor of its own.
        if (id !== '') this.#cursor = id
        return this.#sink.changes(changes, commands)
      }
      default:
        // A message that is newer than this page.
        return undefined
    }
  }
}

/** Decodes a message; throws unless it has a list under this name. */
function decode<T extends object>(text: string, list: keyof T): T {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || !Array.isArray((value as T)[list])) throw new Error('received an invalid message')
  return value as T
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
