/**
 * The frames of a terminal's WebSocket, as provost-proto defines them: a length (32 bits,
 * big-endian), a kind (one byte) and a payload. A message holds one or more whole frames.
 */
import { INPUT_KINDS, OUTPUT_KINDS, TERMINAL_FRAME_HEADER_BYTES, type Code, type ErrorInfo, type TerminalSize } from '../../proto/index.ts'

/** A frame from the terminal. Bytes are views of the message. */
export type OutputFrame =
  | { readonly kind: 'data'; readonly offset: number; readonly bytes: Uint8Array }
  /** Drawn on an empty terminal of this size, the bytes show the state after `offset` bytes. */
  | { readonly kind: 'snapshot'; readonly offset: number; readonly size: TerminalSize; readonly bytes: Uint8Array }
  | { readonly kind: 'resize'; readonly offset: number; readonly size: TerminalSize }
  | { readonly kind: 'exit'; readonly exitCode: number | null; readonly signal: number | null }
  | { readonly kind: 'title'; readonly title: string }
  | { readonly kind: 'bell' }
  | { readonly kind: 'error'; readonly code: Code; readonly message: string }
  /** The daemon wants to know whether the page is there; an acknowledgment answers it. */
  | { readonly kind: 'ping' }

const OFFSET_BYTES = 8
const PLACED_SIZE_BYTES = OFFSET_BYTES + 4
const EXIT_BYTES = 10

/** Reads the fields of one payload in order. */
class PayloadReader {
  readonly #view: DataView<ArrayBuffer>
  #at = 0

  constructor(view: DataView<ArrayBuffer>) {
    this.#view = view
  }

  offset(): number {
    const offset = Number(this.#view.getBigUint64(this.#at))
    if (!Number.isSafeInteger(offset)) throw new Error('received a frame with an invalid offset')
    this.#at += OFFSET_BYTES
    return offset
  }

  size(): TerminalSize {
    const size = { cols: this.#view.getUint16(this.#at), rows: this.#view.getUint16(this.#at + 2) }
    this.#at += 4
    return size
  }

  /** A number behind a byte that tells whether it is present. */
  optionalNumber(): number | null {
    const value = this.#view.getUint8(this.#at) === 0 ? null : this.#view.getInt32(this.#at + 1)
    this.#at += 5
    return value
  }

  rest(): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#at, this.#view.byteLength - this.#at)
  }

  text(): string {
    return new TextDecoder().decode(this.rest())
  }
}

/** Decodes the frames of a message. Throws if one of them is malformed or not whole. */
export function parseMessage(data: ArrayBuffer): OutputFrame[] {
  const view = new DataView(data)
  const frames: OutputFrame[] = []
  let at = 0
  while (at < data.byteLength) {
    const begin = at + TERMINAL_FRAME_HEADER_BYTES
    if (begin > data.byteLength) throw new Error('received a message that ends within a frame')
    const size = view.getUint32(at)
    if (begin + size > data.byteLength) throw new Error('received a message that ends within a frame')
    frames.push(parseFrame(view.getUint8(at + 4), new DataView(data, begin, size)))
    at = begin + size
  }
  return frames
}

function parseFrame(kind: number, view: DataView<ArrayBuffer>): OutputFrame {
  const payload = new PayloadReader(view)
  const size = view.byteLength
  switch (true) {
    case kind === OUTPUT_KINDS.data && size >= OFFSET_BYTES:
      return { kind: 'data', offset: payload.offset(), bytes: payload.rest() }
    case kind === OUTPUT_KINDS.snapshot && size >= PLACED_SIZE_BYTES:
      return { kind: 'snapshot', offset: payload.offset(), size: payload.size(), bytes: payload.rest() }
    case kind === OUTPUT_KINDS.resize && size === PLACED_SIZE_BYTES:
      return { kind: 'resize', offset: payload.offset(), size: payload.size() }
    case kind === OUTPUT_KINDS.exit && size === EXIT_BYTES:
      return { kind: 'exit', exitCode: payload.optionalNumber(), signal: payload.optionalNumber() }
    case kind === OUTPUT_KINDS.title:
      return { kind: 'title', title: payload.text() }
    case kind === OUTPUT_KINDS.bell && size === 0:
      return { kind: 'bell' }
    case kind === OUTPUT_KINDS.error: {
      const { code, message } = JSON.parse(payload.text()) as ErrorInfo
      return { kind: 'error', code, message }
    }
    case kind === OUTPUT_KINDS.ping && size === 0:
      return { kind: 'ping' }
    default:
      throw new Error(`received a frame of kind ${String(kind)} with ${String(size)} bytes`)
  }
}

function encodeFrame(kind: number, payloadBytes: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(TERMINAL_FRAME_HEADER_BYTES + payloadBytes))
  view.setUint32(0, payloadBytes)
  view.setUint8(4, kind)
  return view
}

/** A frame with typed bytes. */
export function encodeInput(keys: Uint8Array): ArrayBuffer {
  const { buffer } = encodeFrame(INPUT_KINDS.input, keys.length)
  new Uint8Array(buffer, TERMINAL_FRAME_HEADER_BYTES).set(keys)
  return buffer
}

/** A frame with the size of the window. */
export function encodeResize({ cols, rows }: TerminalSize): ArrayBuffer {
  const view = encodeFrame(INPUT_KINDS.resize, 4)
  view.setUint16(TERMINAL_FRAME_HEADER_BYTES, cols)
  view.setUint16(TERMINAL_FRAME_HEADER_BYTES + 2, rows)
  return view.buffer
}

/** A frame that acknowledges everything before an offset. */
export function encodeAck(offset: number): ArrayBuffer {
  const view = encodeFrame(INPUT_KINDS.ack, OFFSET_BYTES)
  view.setBigUint64(TERMINAL_FRAME_HEADER_BYTES, BigInt(offset))
  return view.buffer
}
