/** Decodes what a terminal's WebSocket receives: output frames (binary) and control messages (text). */
import type { ServerMessage } from '../../proto/index.ts'

const HEADER_BYTES = 8

/** A part of the output and the byte offset at which it begins. */
export type OutputFrame = { readonly offset: number; readonly bytes: Uint8Array }

/** Decodes a binary message: the offset (64 bits, big-endian), then the bytes. */
export function parseOutputFrame(data: ArrayBuffer): OutputFrame {
  if (data.byteLength < HEADER_BYTES) throw new Error('received a frame without an offset')
  const offset = Number(new DataView(data).getBigUint64(0))
  if (!Number.isSafeInteger(offset)) throw new Error('received a frame with an invalid offset')
  return { offset, bytes: new Uint8Array(data, HEADER_BYTES) }
}

const TYPES: readonly string[] = ['snapshot', 'resize', 'exit', 'title', 'bell', 'error', 'ping'] satisfies ServerMessage['type'][]

/** Decodes a text message. */
export function parseServerMessage(text: string): ServerMessage {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || !('type' in value)) throw new Error('received a message without a type')
  if (typeof value.type !== 'string' || !TYPES.includes(value.type)) throw new Error(`received a message of unknown type: ${String(value.type)}`)
  return value as ServerMessage
}
