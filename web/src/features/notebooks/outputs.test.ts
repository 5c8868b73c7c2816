import { describe, expect, it } from 'vitest'
import { chooseMime, joinOutputs, readTable } from './outputs.ts'

describe('outputs', () => {
  it('joins a text that continues in the next page', () => {
    const part = (text: string, ordinal: number, continues: boolean) => ({ output: 'a', ordinal, continues, content: { type: 'stream' as const, name: 'stdout' as const, text } })
    expect(joinOutputs([part('one ', 0, false), part('two', 0, true)])).toEqual([{ id: 'a', content: { type: 'stream', name: 'stdout', text: 'one two' } }])
  })

  it('chooses HTML before an image before text, and nothing that it cannot draw', () => {
    const [html, png, plain] = [{ inline: '<b>' }, { inline: 'iVBO' }, { inline: 'x' }]
    expect(chooseMime({ 'text/plain': plain, 'text/html': html, 'image/png': png })?.mime).toBe('text/html')
    expect(chooseMime({ 'text/plain': plain, 'image/png': png })?.mime).toBe('image/png')
    expect(chooseMime({ 'application/x-unknown': plain })).toBeNull()
  })

  it('reads a table, with nothing for what is missing', () => {
    const table = { schema: { fields: [{ name: 'a' }, { name: 'b' }] }, data: [{ a: 1, b: null }, { a: { x: 1 } }] }
    expect(readTable(table)).toEqual({ columns: ['a', 'b'], rows: [['1', ''], ['{"x":1}', '']] })
    expect(readTable({ data: 3 })).toBeNull()
  })
})
