/** The folders import downwards only, and the check would notice if one did not. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { wrongImports, wrongImportsBelow } from './layers.mjs'

describe('the layers', () => {
  it('are kept', () => {
    expect(wrongImportsBelow(fileURLToPath(new URL('../src', import.meta.url)))).toEqual([])
  })

  it.each([
    ['features/a/A.svelte', "import { ask } from '../../net/index.ts'", /must not know net/],
    ['features/a/A.svelte', "import B from '../b/B.svelte'", /another feature/],
    ['ui/x.ts', "export { Store } from '../store/index.ts'", /must not know store/],
    ['store/x.ts', "const x = await import('../ui/index.ts')", /must not know ui/],
    ['app/x.ts', "import { ask } from '../net/index.ts'", /must not know net/],
    ['features/a/x.ts', "import { fold } from '../../store/fold.ts'", /only the index/],
    ['other/x.ts', '', /no layer/],
  ])('would catch %s with %s', (file, source, expected) => {
    expect(wrongImports(file, source).join()).toMatch(expected)
  })

  it('allow what is meant', () => {
    expect(wrongImports('features/a/A.svelte', "import { Button } from '../../ui/index.ts'")).toEqual([])
    expect(wrongImports('app/main.ts', "import '../ui/tokens.css'")).toEqual([])
  })
})
