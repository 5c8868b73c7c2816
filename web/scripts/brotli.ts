/** A Vite plugin that writes a Brotli copy of each file that gets smaller. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { Plugin } from 'vite'

const COMPRESSIBLE = /\.(?:js|css|html|svg|json|wasm)$/
const compress = promisify(brotliCompress)

/** The plugin. */
export function brotli(): Plugin {
  let folder = ''
  return {
    name: 'provost-brotli',
    apply: 'build',
    configResolved: (config) => {
      folder = config.build.outDir
    },
    closeBundle: async () => {
      const names = await readdir(folder, { recursive: true })
      await Promise.all(names.filter((name) => COMPRESSIBLE.test(name)).map((name) => compressFile(join(folder, name))))
    },
  }
}

async function compressFile(path: string): Promise<void> {
  const raw = await readFile(path)
  const compressed = await compress(raw, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length },
  })
  if (compressed.length < raw.length) await writeFile(`${path}.br`, compressed)
}
