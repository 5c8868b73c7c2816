/**
 * An incremental reader of `text/event-stream`.
 *
 * Bytes may be cut anywhere, even inside a character or between CR and LF; the
 * messages that come out are the same. It keeps no more than one unfinished
 * message, and refuses one that never ends.
 */

/** One message of the stream. Comments and retry hints are not messages. */
export type Message = {
  /** The name the server gave it; `message` when it gave none. */
  readonly type: string
  /** The last id seen so far, which may be older than this message. */
  readonly id: string
  readonly data: string
}

/** The longest unfinished message we hold, in UTF-16 units. */
export const MESSAGE_LIMIT = 8 * 1024 * 1024

/** Reads one stream; make a new one for each connection. */
export class SseParser {
  readonly #decoder = new TextDecoder()
  #rest = ''
  #afterCr = false
  #type = ''
  #id = ''
  #data: string[] = []
  #held = 0

  /** Takes the next bytes and returns the messages they complete. */
  push(bytes: Uint8Array): Message[] {
    const out: Message[] = []
    let text = this.#decoder.decode(bytes, { stream: true })
    if (text === '') return out
    if (this.#afterCr && text.startsWith('\n')) text = text.slice(1)
    this.#afterCr = false

    const buffer = this.#rest + text
    const end = /\r\n|\n|\r/g
    let from = 0
    for (let match = end.exec(buffer); match !== null; match = end.exec(buffer)) {
      const message = this.#line(buffer.slice(from, match.index))
      if (message !== null) out.push(message)
      from = end.lastIndex
      this.#afterCr = match[0] === '\r' && from === buffer.length
    }
    this.#rest = buffer.slice(from)
    if (this.#rest.length + this.#held > MESSAGE_LIMIT) {
      throw new Error('it sent a message that is too long')
    }
    return out
  }

  #line(line: string): Message | null {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null
    const field = colon < 0 ? line : line.slice(0, colon)
    const start = line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1
    const value = colon < 0 ? '' : line.slice(start)
    if (field === 'data') {
      this.#data.push(value)
      this.#held += value.length
    } else if (field === 'event') this.#type = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    return null
  }

  #dispatch(): Message | null {
    const message =
      this.#data.length === 0
        ? null
        : { type: this.#type || 'message', id: this.#id, data: this.#data.join('\n') }
    this.#type = ''
    this.#data = []
    this.#held = 0
    return message
  }
}
