/** Markdown, parsed into data and drawn as our own elements. Loaded by the pages that show some. */
export { default as MarkdownText } from './MarkdownText.svelte'
