/**
 * An incremental parser of `text/event-stream`.
 *
 * Chunks may end anywhere, even inside a character or between CR and LF; the
 * messages are the same. At most one incomplete message is buffered, up to
 * `MESSAGE_LIMIT`.
 */

/** One message of the stream. Comments and retry hints are not messages. */
export type SseMessage = {
  /** The event name; `message` when the server sent none. */
  readonly type: string
  /** The last id seen so far, which may be older than this message. */
  readonly id: string
  readonly data: string
}

/** The size limit of an incomplete message, in UTF-16 code units. */
export const MESSAGE_LIMIT = 8 * 1024 * 1024

/** Parses one stream. Create a new parser for each connection. */
export class SseParser {
  readonly #decoder = new TextDecoder()
  #incomplete = ''
  #afterCr = false
  #type = ''
  #id = ''
  #data: string[] = []
  #bufferedLength = 0

  /** Consumes the next bytes and returns the messages that they complete. */
  push(bytes: Uint8Array): SseMessage[] {
    const out: SseMessage[] = []
    let text = this.#decoder.decode(bytes, { stream: true })
    if (text === '') return out
    if (this.#afterCr && text.startsWith('\n')) text = text.slice(1)
    this.#afterCr = false

    const buffer = this.#incomplete + text
    const end = /\r\n|\n|\r/g
    let from = 0
    for (let match = end.exec(buffer); match !== null; match = end.exec(buffer)) {
      const message = this.#parseLine(buffer.slice(from, match.index))
      if (message !== null) out.push(message)
      from = end.lastIndex
      this.#afterCr = match[0] === '\r' && from === buffer.length
    }
    this.#incomplete = buffer.slice(from)
    if (this.#incomplete.length + this.#bufferedLength > MESSAGE_LIMIT) {
      throw new Error('a message of the event stream is too long')
    }
    return out
  }

  #parseLine(line: string): SseMessage | null {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null
    const field = colon < 0 ? line : line.slice(0, colon)
    const start = line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1
    const value = colon < 0 ? '' : line.slice(start)
    if (field === 'data') {
      this.#data.push(value)
      this.#bufferedLength += value.length
    } else if (field === 'event') this.#type = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    return null
  }

  #dispatch(): SseMessage | null {
    const message =
      this.#data.length === 0
        ? null
        : { type: this.#type || 'message', id: this.#id, data: this.#data.join('\n') }
    this.#type = ''
    this.#data = []
    this.#bufferedLength = 0
    return message
  }
}
