/** What the projects run: builds, dev servers, previews, kernels and their output. */
export { LINE_LIMIT, type OutputLine } from './line-buffer.ts'
export type { RuntimeOutput, RuntimeOutputState } from './runtime-output.svelte.ts'
export type { KernelHeartbeat, PreviewEntry } from './runtime-store.svelte.ts'
export type { KernelState, RuntimeState } from './runtimes.ts'
