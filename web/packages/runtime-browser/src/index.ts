/** Runtimes of notebooks that live in a page. */
export { createBrowserRuntimeAgent, type BrowserRuntimeAgent, type BrowserRuntimeOptions, type RuntimeState } from './browser-runtime-agent.ts'
export { runEcho } from './echo.ts'
export type { ExecutionContext, ExecutionHandler } from './execution-context.ts'
