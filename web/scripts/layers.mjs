/**
 * Which folder may import from which, checked by reading the imports.
 *
 * `tsc -b` refuses most wrong edges between .ts files through project
 * references. But references are transitive (whoever may use the store could
 * reach the net behind it), and tsc does not read .svelte files: this does both.
 * Run by `npm run layers` and by the unit tests.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * What each layer may import, besides itself.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const MAY = {
  proto: [],
  net: ['proto'],
  store: ['net', 'proto'],
  ui: [],
  features: ['store', 'ui', 'proto'],
  app: ['features', 'store', 'ui', 'proto'],
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g

/**
 * The imports of one file that its layer forbids.
 * @param {string} file path from src, with slashes
 * @param {string} source
 * @returns {string[]} a sentence for each
 */
export function wrongImports(file, source) {
  const [layer = '', feature] = file.split('/')
  const allowed = MAY[layer]
  if (allowed === undefined) return [`${file}: ${layer} is no layer`]
  const wrong = []
  for (const [, path = ''] of source.matchAll(IMPORT)) {
    const target = join(dirname(file), path).split(sep).join('/')
    const [other = '', otherFeature] = target.split('/')
    if (other === layer && (layer !== 'features' || otherFeature === feature)) continue
    if (other === layer) wrong.push(`${file} imports another feature: ${path}`)
    else if (!allowed.includes(other)) wrong.push(`${file} imports ${path}: ${layer} must not know ${other}`)
    else if (!/^[^/]+(?:\/[^/]+)?\/(?:index\.ts|[^/]+\.css)$/.test(target)) wrong.push(`${file} imports ${path}: only the index of another folder`)
  }
  return wrong
}

/**
 * The forbidden imports below a folder.
 * @param {string} root
 * @returns {string[]}
 */
export function wrongImportsBelow(root) {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|svelte)$/.test(name))
    .flatMap((name) => wrongImports(name.split(sep).join('/'), readFileSync(join(root, name), 'utf8')))
}

const here = fileURLToPath(import.meta.url)
if (process.argv[1] !== undefined && resolve(process.argv[1]) === here) {
  const root = join(dirname(here), '..', 'src')
  const wrong = wrongImportsBelow(root)
  for (const line of wrong) console.error(line)
  if (wrong.length > 0) process.exit(1)
  console.log(`layers: every import below ${relative(process.cwd(), root)} points the right way`)
}
