/** A notebook with its cells, and a runtime in this page on the same store. */
import { useBrowserRuntime, useStore } from '@provost/react'
import { runEcho } from '@provost/runtime-browser'
import { newId, type Cell, type NotebookStore } from '@provost/runtime-core'

const CAPABILITIES = { canExecuteCode: true, canExecuteSql: false, canExecuteAi: false }

export function Notebook({ store }: { readonly store: NotebookStore }) {
  const title = useStore(store, (store) => store.notebook?.title)
  const cells = useStore(store, (store) => store.cells)
  const session = useStore(store, (store) => store.activeSession())
  const runtime = useBrowserRuntime(store, CAPABILITIES, { runtimeId: `react-echo-${store.id}`, runtimeType: 'echo', clientId: store.clientId }, runEcho)
  if (title === undefined) return <p>Loading…</p>

  const addCell = (): void => {
    const position = store.positionBetween(cells.at(-1)?.position ?? null, null)
    void store.submit({ name: 'createCell', args: { cell: newId(), kind: 'code', position, source: '', metadata: {} } })
  }
  return (
    <main>
      <h1>{title}</h1>
      <p>
        Runtime: <output data-runtime={session?.status ?? 'none'}>{session === null ? 'none' : `${session.runtimeType}, ${session.status}`}</output>{' '}
        {runtime.state.kind === 'active' ? <button onClick={runtime.shutdown}>Stop</button> : <button onClick={runtime.start}>Start the echo runtime</button>}
        {runtime.state.kind === 'stopped' && ` It has stopped: ${runtime.state.why ?? runtime.state.reason}`}
      </p>
      {cells.map((cell) => (
        <CellView key={cell.id} store={store} cell={cell} />
      ))}
      <button onClick={addCell}>Add a cell</button>
    </main>
  )
}

function CellView({ store, cell }: { readonly store: NotebookStore; readonly cell: Cell }) {
  const execution = useStore(store, (store) => (cell.execution === undefined ? null : store.execution(cell.execution)))
  const outputs = useStore(store, (store) => (cell.execution === undefined ? null : store.outputs(cell.execution)))
  const run = (): void => void store.submit({ name: 'requestExecution', args: { execution: newId(), cell: cell.id, revision: cell.revision } })
  const edit = (source: string): void => void store.submit({ name: 'replaceCell', args: { cell: cell.id, base: cell.revision, source } })
  return (
    <article>
      <textarea aria-label="Source" value={cell.source} onChange={(event) => edit(event.target.value)} rows={3} cols={60} />
      <p>
        <button onClick={run}>Run</button> <span data-execution={execution?.status ?? 'none'}>{execution === null ? '' : (execution.outcome ?? execution.status)}</span>
      </p>
      <pre data-outputs>{outputs?.map(({ content }) => ('text' in content ? content.text : '')).join('')}</pre>
    </article>
  )
}
