/** The SSE parser: the same messages for any chunk boundaries. */
import { describe, expect, it } from 'vitest'
import { MESSAGE_LIMIT, SseParser, type SseMessage } from './sse-parser.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function parse(...chunks: readonly Uint8Array[]): SseMessage[] {
  const parser = new SseParser()
  return chunks.flatMap((chunk) => parser.push(chunk))
}

const STREAM = [
  ': hello\n\n',
  'id: 1\ndata: {"a":1}\n\n',
  'id: 2\r\ndata: first\r\ndata:second\r\ndata\r\n\r\n',
  ': ping\n\n',
  'event: resync\rdata: {}\r\r',
  'id: 3\ndata: grüße 🦀 \u202e\n\n',
  'retry: 100\nunknown: x\ndata: last\n\n',
  'data: never ended',
].join('')

const MESSAGES: readonly SseMessage[] = [
  { type: 'message', id: '1', data: '{"a":1}' },
  { type: 'message', id: '2', data: 'first\nsecond\n' },
  { type: 'resync', id: '2', data: '{}' },
  { type: 'message', id: '3', data: 'grüße 🦀 \u202e' },
  { type: 'message', id: '3', data: 'last' },
]

describe('the SSE parser', () => {
  it('parses fields, multi-line data, comments and all three line endings', () => {
    expect(parse(bytes(STREAM))).toEqual(MESSAGES)
  })

  it('gives the same messages for any single chunk boundary', () => {
    const all = bytes(STREAM)
    for (let cut = 0; cut <= all.length; cut++) {
      expect(parse(all.slice(0, cut), all.slice(cut)), `split at ${String(cut)}`).toEqual(MESSAGES)
    }
  })

  it('gives the same messages byte by byte', () => {
    expect(parse(...Array.from(bytes(STREAM), (byte) => Uint8Array.of(byte)))).toEqual(MESSAGES)
  })

  it('skips a byte order mark and messages without data', () => {
    expect(parse(bytes('\ufeffevent: x\n\ndata: y\n\n'))).toEqual([{ type: 'message', id: '', data: 'y' }])
  })

  it('rejects a message that never ends', () => {
    const parser = new SseParser()
    const part = bytes(`data: ${'x'.repeat(1024 * 1024)}\n`)
    expect(() => {
      for (let held = 0; held <= MESSAGE_LIMIT; held += 1024 * 1024) parser.push(part)
    }).toThrow('too long')
  })
})
