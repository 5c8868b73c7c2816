/** What a terminal sends: bytes with their place, and sayings. Checked, because all that follows relies on it. */
import type { ServerMessage } from '../../proto/index.ts'

const HEAD = 8

/** Output and where it begins. */
export type Frame = { readonly offset: number; readonly bytes: Uint8Array }

/** Reads a binary message: a place (64 bits, the highest first) and the bytes from there. */
export function frameOf(data: ArrayBuffer): Frame {
  if (data.byteLength < HEAD) throw new Error('it sent a piece without a place')
  const offset = Number(new DataView(data).getBigUint64(0))
  if (!Number.isSafeInteger(offset)) throw new Error('it sent a piece from an impossible place')
  return { offset, bytes: new Uint8Array(data, HEAD) }
}

const TYPES: readonly string[] = ['snapshot', 'resize', 'exit', 'title', 'bell', 'error', 'ping'] satisfies ServerMessage['type'][]

/** Reads a text message. */
export function sayingOf(text: string): ServerMessage {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || !('type' in value)) throw new Error('it said nothing that is known')
  if (typeof value.type !== 'string' || !TYPES.includes(value.type)) throw new Error(`it said something unknown: ${String(value.type)}`)
  return value as ServerMessage
}
