/**
 * Follows the events of the log that match a filter, from a cursor on.
 *
 * It does not store events; they go to the sink in batches, in order and none twice.
 */
import { formatCursor, type Event, type LogCursor } from '../../proto/index.ts'
import { ReconnectingStream, type ConnectionState, type StreamEnvironment } from '../stream/reconnecting-stream.ts'
import type { SseMessage } from '../stream/sse-parser.ts'
import { decodeEvent } from './decode-event.ts'

/** Receives events and state changes. */
export type EventSink = {
  readonly state: (state: ConnectionState) => void
  /** New events, in order, none twice. If a promise is returned, reading pauses until it resolves. */
  readonly events: (events: readonly Event[]) => Promise<void> | undefined
  /** The log was replaced by another one: drop every event. */
  readonly resync: () => void
}

/** See the head of this file. */
export class EventStream {
  readonly #sink: EventSink
  readonly #query: URLSearchParams
  readonly #stream: ReconnectingStream
  /** The position to continue after, as the daemon wrote it. */
  #after: string

  /** Follows the events after the cursor `after` that match `query`. */
  constructor(query: URLSearchParams, after: LogCursor, sink: EventSink, environment?: StreamEnvironment) {
    this.#query = query
    this.#after = formatCursor(after)
    this.#sink = sink
    const source = {
      path: () => this.#path(),
      state: (state: ConnectionState) => sink.state(state),
      messages: (messages: readonly SseMessage[]) => this.#deliver(messages),
    }
    this.#stream = new ReconnectingStream(source, environment)
  }

  /** Connects, and stays connected until `stop` or until the login ends. */
  start(): void {
    void this.#stream.start()
  }

  /** Skips the rest of the current retry delay. */
  retryNow(): void {
    this.#stream.retryNow()
  }

  /** Disconnects. */
  stop(): void {
    this.#stream.stop()
  }

  #path(): string {
    const query = new URLSearchParams(this.#query)
    query.set('after', this.#after)
    return `/api/events?${query.toString()}`
  }

  #deliver(messages: readonly SseMessage[]): Promise<void> | undefined {
    const batch: Event[] = []
    for (const { type, id, data } of messages) {
      if (type === 'resync') {
        // The owner reads the log anew; what follows here is its old beginning.
        this.stop()
        this.#sink.resync()
        return undefined
      }
      if (type !== 'message') continue
      const event = decodeEvent(data)
      if (id === this.#after) continue
      this.#after = id
      batch.push(event)
    }
    return batch.length > 0 ? this.#sink.events(batch) : undefined
  }
}
