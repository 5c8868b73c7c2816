/** Opens the notebook of the address, `/?notebook=ID`, and shows it. */
import { NotebookStore, SyncConnection } from '@provost/runtime-core'
import { createRoot } from 'react-dom/client'
import { Notebook } from './notebook.tsx'

const root = createRoot(document.getElementById('app') as HTMLElement)
const notebook = new URLSearchParams(location.search).get('notebook')

if (notebook === null) root.render(<p>Name a notebook in the address: /?notebook=ID</p>)
else {
  // One store for the whole app: the page shows it, and the runtime works on it.
  const connection = new SyncConnection({ request: (path, init) => fetch(path, init) })
  try {
    const store = await NotebookStore.open({ connection, notebook })
    root.render(<Notebook store={store} />)
  } catch (error) {
    root.render(<p role="alert">{error instanceof Error ? error.message : String(error)}</p>)
  }
}
