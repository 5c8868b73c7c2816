/** The terminal socket: no byte twice, none missing, and `live` only when it is. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeAck } from './frames.ts'
import { TerminalSocket } from './terminal-socket.ts'
import type { TerminalConnectionState, TerminalDisplay } from './types.ts'
import type { ApiResult } from '../http/request.ts'
import { INPUT_KINDS, OUTPUT_KINDS, type TerminalTicket } from '../../proto/index.ts'

/** Big-endian numbers of so many bytes. */
const number = (value: number, size: number): number[] => Array.from({ length: size }, (_, n) => Number((BigInt(value) >> BigInt(8 * (size - 1 - n))) & 255n))
const frame = (kind: number, payload: readonly number[]): number[] => [...number(payload.length, 4), kind, ...payload]
const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)]
const output = (offset: number, text: string): number[] => frame(OUTPUT_KINDS.data, [...number(offset, 8), ...utf8(text)])
const screen = (offset: number, text: string): number[] => frame(OUTPUT_KINDS.snapshot, [...number(offset, 8), ...number(100, 2), ...number(30, 2), ...utf8(text)])
const resize = (offset: number): number[] => frame(OUTPUT_KINDS.resize, [...number(offset, 8), ...number(100, 2), ...number(30, 2)])
const error = (code: string, message: string): number[] => frame(OUTPUT_KINDS.error, utf8(JSON.stringify({ code, message })))

class FakeSocket {
  static made: FakeSocket[] = []
  readonly sent: ArrayBuffer[] = []
  readyState: number = 0
  onopen: (() => void) | null = null
  onclose: (() => void) | null = null
  onmessage: ((event: { readonly data: unknown }) => void) | null = null
  constructor(readonly path: string) {
    FakeSocket.made.push(this)
  }
  open(): void {
    this.readyState = 1
    this.onopen?.()
  }
  send(data: ArrayBuffer): void {
    this.sent.push(data)
  }
  close(): void {
    this.readyState = 3
  }
  drop(): void {
    this.readyState = 3
    this.onclose?.()
  }
  receive(...frames: number[][]): void {
    this.onmessage?.({ data: new Uint8Array(frames.flat()).buffer })
  }
  get after(): string | null {
    return new URL(this.path, 'http://x').searchParams.get('after')
  }
}

/** A terminal socket with recorded state changes; output is parsed at once unless `late`. */
function attachable(ticket: ApiResult<TerminalTicket> = { kind: 'ok', status: 200, value: { ticket: 't' } }, late = false) {
  const states: TerminalConnectionState[] = []
  const drawn: string[] = []
  const waiting: (() => void)[] = []
  const done = (parsed: () => void): void => void (late ? waiting.push(parsed) : parsed())
  const display: TerminalDisplay = {
    size: () => ({ cols: 80, rows: 24 }),
    snapshot: ({ cols, rows }, bytes, parsed) => {
      drawn.push(`snapshot ${String(cols)}x${String(rows)} ${new TextDecoder().decode(bytes)}`)
      done(parsed)
    },
    output: (bytes, parsed) => {
      drawn.push(new TextDecoder().decode(bytes))
      done(parsed)
    },
    resize: ({ cols, rows }) => drawn.push(`resize ${String(cols)}x${String(rows)}`),
    title: () => undefined,
    bell: () => undefined,
  }
  const notes: string[] = []
  const terminal = new TerminalSocket('p1', display, { state: (state) => states.push(state), note: (text) => notes.push(text) }, {
    ticket: () => Promise.resolve(ticket),
    socket: (path) => new FakeSocket(path) as unknown as WebSocket,
    now: () => 1_000_000,
    random: () => 0,
  })
  return { terminal, states, drawn, waiting, notes, last: () => states.at(-1)?.kind }
}

const socket = async (n: number): Promise<FakeSocket> => {
  await vi.waitFor(() => expect(FakeSocket.made).toHaveLength(n))
  const made = FakeSocket.made[n - 1]
  if (made === undefined) throw new Error('no socket')
  return made
}
/** What was typed, as the text of each input frame. */
const typed = (ws: FakeSocket): string[] =>
  ws.sent.filter((data) => new DataView(data).getUint8(4) === INPUT_KINDS.input).map((data) => new TextDecoder().decode(new Uint8Array(data, 5)))
const keys = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('the terminal socket', () => {
  beforeEach(() => void (FakeSocket.made = []))
  afterEach(() => vi.useRealTimers())

  it('is live only when the snapshot is drawn, and buffers input until then', async () => {
    const { terminal, last, waiting, drawn } = attachable(undefined, true)
    void terminal.attach('open')
    const ws = await socket(1)
    expect(ws.after).toBeNull()
    ws.open()
    expect(last()).toBe('connecting')
    expect(terminal.sendInput(keys('early'))).toBe(true)
    ws.receive(screen(40, 'screen'))
    expect(drawn).toEqual(['snapshot 100x30 screen'])
    expect([last(), ws.sent]).toEqual(['connecting', []])
    waiting.shift()?.()
    expect(last()).toBe('live')
    expect(typed(ws)).toEqual(['early'])
  })

  it('splits a large paste into frames', async () => {
    const { terminal } = attachable()
    void terminal.attach('open')
    const ws = await socket(1)
    ws.open()
    ws.receive(screen(40, 'screen'))
    expect(terminal.sendInput(new Uint8Array(150_000).fill(120))).toBe(true)
    expect(typed(ws).map((text) => text.length)).toEqual([65_536, 65_536, 18_928])
    ws.drop()
    expect(terminal.sendInput(keys('x'))).toBe(false)
    terminal.detach()
  })

  it('reconnects for exactly the missing bytes, without a snapshot', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states, drawn, last } = attachable()
    void terminal.attach('open')
    const first = await socket(1)
    first.open()
    first.receive(screen(40, 'screen'))
    // One message may have several frames.
    first.receive(output(40, 'abc'), output(43, 'def'))
    first.drop()
    await vi.waitFor(() => expect(last()).toBe('lost'))
    expect(states.at(-1)).toMatchObject({ reason: 'the connection was lost', since: 1_000_000, retryAt: 1_000_250 })
    const second = await socket(2)
    expect(second.after).toBe('46')
    second.open()
    second.receive(resize(46))
    expect(last()).toBe('live')
    // Bytes that were sent twice are drawn once.
    second.receive(output(43, 'defghi'))
    expect(drawn).toEqual(['snapshot 100x30 screen', 'abc', 'def', 'resize 100x30', 'ghi'])
  })

  it('does not draw over a gap', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states } = attachable()
    void terminal.attach('open')
    const first = await socket(1)
    first.open()
    first.receive(screen(40, 'screen'))
    first.receive(output(50, 'later'))
    await vi.waitFor(() => expect(states.at(-1)).toMatchObject({ kind: 'lost', reason: 'a part of the output is missing' }))
    expect((await socket(2)).after).toBeNull()
  })

  it('acknowledges parsed output in steps', async () => {
    const { terminal, waiting } = attachable(undefined, true)
    void terminal.attach('view')
    const ws = await socket(1)
    expect(ws.after).toBe('18446744073709551615')
    ws.open()
    ws.receive(screen(0, ''))
    ws.receive(output(0, 'x'.repeat(40_000)))
    ws.receive(output(40_000, 'x'.repeat(40_000)))
    waiting.splice(0, 2).forEach((parsed) => parsed())
    expect(ws.sent).toEqual([])
    waiting.shift()?.()
    expect(ws.sent).toEqual([encodeAck(80_000)])
  })

  it('answers a ping with what is drawn', async () => {
    const { terminal, waiting } = attachable(undefined, true)
    void terminal.attach('open')
    const ws = await socket(1)
    ws.open()
    ws.receive(screen(40, 'screen'), frame(OUTPUT_KINDS.ping, []))
    waiting.shift()?.()
    ws.receive(output(40, 'abc'), frame(OUTPUT_KINDS.ping, []))
    waiting.shift()?.()
    ws.receive(frame(OUTPUT_KINDS.ping, []))
    expect(ws.sent).toEqual([encodeAck(0), encodeAck(40), encodeAck(43)])
  })

  it.each([
    ['a text message', 'text'],
    ['a message that ends within a frame', new Uint8Array(output(46, 'x').slice(0, -1)).buffer],
    ['a frame of kind 99', new Uint8Array(frame(99, [])).buffer],
  ])('reconnects after %s', async (reason, data) => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states, drawn } = attachable()
    void terminal.attach('open')
    const first = await socket(1)
    first.open()
    first.receive(screen(40, 'screen'))
    first.onmessage?.({ data })
    await vi.waitFor(() => expect(states.at(-1)).toMatchObject({ kind: 'lost', reason: expect.stringContaining(`received ${reason}`) }))
    expect((await socket(2)).after).toBe('40')
    expect(drawn).toEqual(['snapshot 100x30 screen'])
    terminal.detach()
  })

  it.each([
    ['the exit', frame(OUTPUT_KINDS.exit, [1, ...number(3, 4), 0, ...number(0, 4)]), { kind: 'ended', exitCode: 3, signal: null }],
    ['a lost kernel', error('KERNEL_LOST', 'it is gone'), { kind: 'refused', reason: 'it is gone', code: 'KERNEL_LOST' }],
    ['the end of the login', error('UNAUTHENTICATED', 'no'), { kind: 'loggedOut' }],
  ])('does not reconnect after %s', async (_, last, expected) => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states } = attachable()
    void terminal.attach('open')
    const ws = await socket(1)
    ws.open()
    ws.receive(last)
    ws.drop()
    await vi.waitFor(() => expect(states.at(-1)).toEqual(expected))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(FakeSocket.made).toHaveLength(1)
    expect(terminal.sendInput(keys('x'))).toBe(false)
  })

  it('reports why it was refused, and does not retry', async () => {
    const problem = { error: 'Only a person may.', code: 'FORBIDDEN', status: 403 } as const
    const { terminal, states } = attachable({ kind: 'refused', problem } as unknown as ApiResult<TerminalTicket>)
    await terminal.attach('open')
    expect(states).toEqual([{ kind: 'connecting', lostSince: null }, { kind: 'refused', reason: 'Only a person may.', code: 'FORBIDDEN' }])
    expect(FakeSocket.made).toHaveLength(0)
  })

  it('reports nothing after it was detached', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states } = attachable()
    void terminal.attach('open')
    const ws = await socket(1)
    terminal.detach()
    ws.receive(screen(40, 'screen'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(states.map(({ kind }) => kind)).toEqual(['connecting'])
    expect(FakeSocket.made).toHaveLength(1)
  })

  it('gives up a connection without messages', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    const { terminal, states } = attachable()
    void terminal.attach('open')
    ;(await socket(1)).open()
    await vi.advanceTimersByTimeAsync(41_000)
    expect(states.some((state) => state.kind === 'lost' && state.reason === 'the terminal did not respond in time')).toBe(true)
    terminal.detach()
  })
})
