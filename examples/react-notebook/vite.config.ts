/**
 * The packages and React come from `web`, where `npm ci` installs them. The server passes `/api` on to a
 * daemon with the token that it is given, so that the page needs none:
 *
 * PROVOST=http://127.0.0.1:3001 PROVOST_TOKEN=… npm run dev
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const web = fileURLToPath(new URL('../../web/', import.meta.url))
const resolve = createRequire(new URL('../../web/package.json', import.meta.url)).resolve
const target = process.env['PROVOST'] ?? 'http://127.0.0.1:3001'
const token = process.env['PROVOST_TOKEN'] ?? ''
if (!existsSync(`${web}packages/runtime-core/wasm/notebook.wasm`)) throw new Error('build the module first: `cargo xtask ui`')

const packageAlias = (name: string) => ({ find: new RegExp(`^@provost/${name}$`), replacement: `${web}packages/${name}/src/index.ts` })
const reactAlias = (name: string) => ({ find: new RegExp(`^${name}$`), replacement: resolve(name) })

export default {
  root: import.meta.dirname,
  resolve: {
    alias: [...['runtime-core', 'runtime-browser', 'react'].map(packageAlias), ...['react', 'react/jsx-runtime', 'react/jsx-dev-runtime', 'react-dom/client'].map(reactAlias)],
    dedupe: ['react', 'react-dom'],
  },
  server: {
    host: '127.0.0.1',
    fs: { allow: [import.meta.dirname, web] },
    proxy: {
      '/api': {
        target,
        ws: true,
        changeOrigin: true,
        // To the daemon this is a program with a token, not a page of another origin.
        configure: (proxy: { on: (event: string, listener: (request: { removeHeader: (name: string) => void; setHeader: (name: string, value: string) => void }) => void) => void }) => {
          for (const event of ['proxyReq', 'proxyReqWs']) {
            proxy.on(event, (request) => {
              for (const name of ['origin', 'cookie', 'referer', 'sec-fetch-site']) request.removeHeader(name)
              request.setHeader('authorization', `Bearer ${token}`)
            })
          }
        },
      },
    },
  },
}
