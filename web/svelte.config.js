/** Runes only: the compiler refuses the older syntax. */
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte'

export default { preprocess: vitePreprocess(), compilerOptions: { runes: true } }
