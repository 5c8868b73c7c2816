/** The frames of the terminal are those of provost-proto: both read the same golden file. */
import { describe, expect, it } from 'vitest'
import { encodeAck, encodeInput, encodeResize, parseMessage, type OutputFrame } from './frames.ts'

const FILES: Record<string, string> = import.meta.glob('../../../../crates/provost-proto/tests/golden/files/terminal_frames.txt', { query: '?raw', import: 'default', eager: true })
const golden = Object.values(FILES).join('')

/** The lines below a heading of the golden file. */
function section(heading: string): string[] {
  const lines = golden.split('\n')
  const begin = lines.indexOf(`## ${heading}`) + 1
  expect(begin).toBeGreaterThan(0)
  const rest = lines.slice(begin)
  const end = rest.findIndex((line) => line === '')
  return end < 0 ? rest : rest.slice(0, end)
}

const fromHex = (hex: string): ArrayBuffer => new Uint8Array((hex.match(/../g) ?? []).map((byte) => parseInt(byte, 16))).buffer
const toHex = (data: ArrayBuffer): string => [...new Uint8Array(data)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const bytes = new Uint8Array([...new TextEncoder().encode('\u001b[31mred'), 0xff])

const TO_CLIENT: OutputFrame[] = [
  { kind: 'data', offset: 7, bytes },
  { kind: 'snapshot', offset: 7, size: { cols: 80, rows: 24 }, bytes },
  { kind: 'resize', offset: 7, size: { cols: 120, rows: 40 } },
  { kind: 'exit', exitCode: 1, signal: null },
  { kind: 'exit', exitCode: null, signal: 9 },
  { kind: 'title', title: 'vim ä' },
  { kind: 'bell' },
  { kind: 'error', code: 'PATCH_CONFLICT', message: 'does not fit' },
  { kind: 'error', code: 'TIMEOUT', message: 'took too long' },
  { kind: 'ping' },
]

describe('a frame of the terminal', () => {
  it('is read as the golden file has it, alone and with others in one message', () => {
    const lines = section('to the client')
    expect(lines.map((line) => parseMessage(fromHex(line)))).toEqual(TO_CLIENT.map((frame) => [frame]))
    expect(parseMessage(fromHex(lines.join('')))).toEqual(TO_CLIENT)
    expect(parseMessage(new ArrayBuffer(0))).toEqual([])
  })

  it('is written as the golden file has it', () => {
    const input = new Uint8Array([...new TextEncoder().encode('ls\r'), 0xff])
    const written = [encodeInput(input), encodeResize({ cols: 120, rows: 40 }), encodeAck(7)]
    expect(written.map(toHex)).toEqual(section('to the kernel'))
  })

  it('is refused if it is cut off, unknown or of the wrong size', () => {
    for (const line of section('to the client')) {
      for (let end = 2; end < line.length; end += 2) {
        expect(() => parseMessage(fromHex(line.slice(0, end)))).toThrow('ends within a frame')
      }
    }
    for (const hex of ['0000000063', '0000000010', '000000071000000000000000', '000000011500', '0000000412ffffffff', '0000000820ffffffffffffffff']) {
      expect(() => parseMessage(fromHex(hex)), hex).toThrow(/received a frame of kind/)
    }
    expect(() => parseMessage(fromHex('0000000810ffffffffffffffff'))).toThrow('invalid offset')
    expect(() => parseMessage(fromHex('00000001167b'))).toThrow()
  })
})
