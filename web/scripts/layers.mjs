/**
 * Checks which layer imports from which, by reading the import statements.
 *
 * Project references make `tsc -b` reject most wrong imports between .ts files. But
 * references are transitive (a layer above the store could import the net behind it),
 * and tsc does not read .svelte files; this script covers both. Run by `npm run layers`
 * and by the unit tests.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The layers that each layer may import, besides itself.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const ALLOWED = {
  proto: [],
  net: ['proto'],
  store: ['net', 'proto'],
  ui: [],
  features: ['store', 'ui', 'proto'],
  app: ['features', 'store', 'ui', 'proto'],
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g

/**
 * The forbidden imports of one file.
 * @param {string} file path from src, with slashes
 * @param {string} source
 * @returns {string[]} one message for each
 */
export function forbiddenImports(file, source) {
  const [layer = '', feature] = file.split('/')
  const allowed = ALLOWED[layer]
  if (allowed === undefined) return [`${file}: ${layer} is not a layer`]
  const errors = []
  for (const [, path = ''] of source.matchAll(IMPORT)) {
    const target = join(dirname(file), path).split(sep).join('/')
    const [other = '', otherFeature] = target.split('/')
    if (other === layer && (layer !== 'features' || otherFeature === feature)) continue
    if (other === layer) errors.push(`${file} imports another feature: ${path}`)
    else if (!allowed.includes(other)) errors.push(`${file} imports ${path}: ${layer} must not import ${other}`)
    else if (!/^[^/]+(?:\/[^/]+)?\/(?:index\.ts|[^/]+\.css)$/.test(target)) errors.push(`${file} imports ${path}: import only the index of another layer`)
  }
  return errors
}

/**
 * The forbidden imports below a folder.
 * @param {string} root
 * @returns {string[]}
 */
export function forbiddenImportsBelow(root) {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|svelte)$/.test(name))
    .flatMap((name) => forbiddenImports(name.split(sep).join('/'), readFileSync(join(root, name), 'utf8')))
}

const here = fileURLToPath(import.meta.url)
if (process.argv[1] !== undefined && resolve(process.argv[1]) === here) {
  const root = join(dirname(here), '..', 'src')
  const errors = forbiddenImportsBelow(root)
  for (const line of errors) console.error(line)
  if (errors.length > 0) process.exit(1)
  console.log(`layers: all imports below ${relative(process.cwd(), root)} are allowed`)
}
