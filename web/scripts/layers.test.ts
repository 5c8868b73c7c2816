/** The layers import downwards only, and the check detects violations. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { forbiddenImports, forbiddenImportsBelow } from './layers.mjs'

describe('the layers', () => {
  it('are respected', () => {
    expect(forbiddenImportsBelow(fileURLToPath(new URL('../src', import.meta.url)))).toEqual([])
  })

  it.each([
    ['features/a/A.svelte', "import { sendRequest } from '../../net/index.ts'", /must not import net/],
    ['features/a/A.svelte', "import B from '../b/B.svelte'", /another feature/],
    ['ui/x.ts', "export { Store } from '../store/index.ts'", /must not import store/],
    ['store/x.ts', "const x = await import('../ui/index.ts')", /must not import ui/],
    ['app/x.ts', "import { sendRequest } from '../net/index.ts'", /must not import net/],
    ['features/a/x.ts', "import { fold } from '../../store/fold.ts'", /only the index/],
    ['other/x.ts', '', /not a layer/],
  ])('detect %s with %s', (file, source, expected) => {
    expect(forbiddenImports(file, source).join()).toMatch(expected)
  })

  it('allow valid imports', () => {
    expect(forbiddenImports('features/a/A.svelte', "import { Button } from '../../ui/index.ts'")).toEqual([])
    expect(forbiddenImports('app/main.ts', "import '../ui/tokens.css'")).toEqual([])
  })
})
