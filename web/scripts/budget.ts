/** A Vite plugin that fails the build when the initial JavaScript is too large. */
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Limits the entry chunk and its static imports, in bytes after gzip. */
export function budget(limit: number): Plugin {
  return {
    name: 'provost-budget',
    apply: 'build',
    generateBundle(_, bundle) {
      const initial = new Set<string>()
      const visit = (name: string): void => {
        const chunk = bundle[name]
        if (chunk?.type !== 'chunk' || initial.has(name)) return
        initial.add(name)
        chunk.imports.forEach(visit)
      }
      for (const [name, chunk] of Object.entries(bundle)) if (chunk.type === 'chunk' && chunk.isEntry) visit(name)
      let total = 0
      for (const name of initial) {
        const chunk = bundle[name]
        if (chunk?.type === 'chunk') total += gzipSync(chunk.code).length
      }
      if (total > limit) this.error(`the initial JavaScript has ${String(total)} bytes after gzip; the budget is ${String(limit)}`)
    },
  }
}
