/** React hooks for notebooks and their runtimes. The store is the app's: hooks create none. */
import { createBrowserRuntimeAgent, type BrowserRuntimeAgent, type BrowserRuntimeOptions, type ExecutionHandler, type RuntimeState } from '@provost/runtime-browser'
import type { NotebookStore, RuntimeCapabilities } from '@provost/runtime-core'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'

/** What a component reads from a store, read again after each change. Return what the store holds, not copies of it. */
export function useStore<T>(store: NotebookStore, select: (store: NotebookStore) => T): T {
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store])
  const version = useSyncExternalStore(subscribe, () => store.version)
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the version stands for the content of the store
  return useMemo(() => select(store), [store, select, version])
}

/** A runtime of a component: what became of it, and how to start and stop one. */
export type BrowserRuntime = { readonly state: RuntimeState; readonly start: () => void; readonly shutdown: () => void }

/** A runtime on a store that the app has. It ends with the component. */
export function useBrowserRuntime(store: NotebookStore, capabilities: RuntimeCapabilities, options: Omit<BrowserRuntimeOptions, 'sessionId'>, handler: ExecutionHandler): BrowserRuntime {
  const [state, setState] = useState<RuntimeState>({ kind: 'idle' })
  const agent = useRef<BrowserRuntimeAgent | null>(null)
  // The newest of what is rendered, read when a runtime starts or executes.
  const latest = useRef({ capabilities, options, handler })
  latest.current = { capabilities, options, handler }

  const start = useCallback(() => {
    if (agent.current?.state.kind === 'active') return
    const next = createBrowserRuntimeAgent(store, latest.current.capabilities, latest.current.options)
    next.subscribe(() => setState(next.state))
    agent.current = next
    next.start((context) => latest.current.handler(context))
  }, [store])
  const shutdown = useCallback(() => agent.current?.shutdown(), [])
  useEffect(() => () => agent.current?.shutdown('the component was removed'), [store])
  return { state, start, shutdown }
}
