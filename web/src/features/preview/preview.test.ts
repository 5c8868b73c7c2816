/** The preview: why it is unavailable, and which paths it accepts. */
import { describe, expect, it } from 'vitest'
import type { RuntimeView } from '../../proto/index.ts'
import { parsePreviewPath } from './preview-path.ts'
import { unavailableNotice } from './unavailable.ts'

const port = (number: number, http: boolean) => ({ port: number, address: '127.0.0.1', pid: 1, http })
const view = (more: Partial<RuntimeView>): RuntimeView =>
  ({
    status: 'running',
    devServer: { action: 'a', crash: null, restartAt: null },
    build: { status: 'none', action: null },
    preview: { status: 'ready', port: 5173, ports: [port(5173, true), port(9000, false)] },
    ...more,
  }) as RuntimeView

describe('an unavailable preview', () => {
  it.each([
    [view({}), null, null],
    [view({ status: 'stopped' }), null, 'Not running'],
    [view({ status: 'starting' }), null, 'Starting'],
    [view({ status: 'building' }), null, 'Building'],
    [view({ status: 'crashed' }), null, 'Crashed'],
    [view({ preview: { status: 'none', port: null, url: null, ports: [] } }), null, 'Waiting'],
    [view({ preview: { status: 'lost', port: 5173, url: null, ports: [] } }), null, 'Not listening'],
    [view({ preview: { status: 'detected', port: 5173, url: null, ports: [port(5173, false)] } }), null, 'No response yet'],
    [view({}), 9000, 'No response yet'],
    [view({}), 5173, null],
    [view({}), 1, 'Not listening'],
  ])('%# says why', (state, wanted, title) => {
    expect(unavailableNotice(state, wanted)?.title ?? null).toBe(title)
  })
})

describe('the address bar', () => {
  it.each([
    ['', '/'],
    ['/a?b#c', '/a?b#c'],
    ['a/b', '/a/b'],
    ['http://app.localhost:3001/x', '/x'],
    ['http://app.localhost:3001', '/'],
    ['http://evil.example/', null],
    ['//evil.example/', null],
    ['/\\evil.example/', null],
    ['javascript:alert(1)', null],
    ['http://app.localhost:3001//evil.example', null],
  ])('%j leads to %j', (input, expected) => {
    expect(parsePreviewPath(input, 'http://app.localhost:3001')).toBe(expected)
  })
})
