/** Build and test configuration. */
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'
import { brotli } from './scripts/brotli.ts'
import { budget } from './scripts/budget.ts'

export default defineConfig({
  plugins: [svelte(), budget(120 * 1024), brotli()],
  resolve: { conditions: ['browser'] },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:3001', '/login': 'http://127.0.0.1:3001' } },
  test: { include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'] },
})
