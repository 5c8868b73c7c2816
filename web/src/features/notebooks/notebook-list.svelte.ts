/** The list of a project's notebooks, which is fetched, and how a new one is created. */
import { sendRequest } from '../../store/index.ts'
import type { CreatedNotebook, Notebook, NotebookId, NotebookList, ProjectId } from '../../proto/index.ts'

/** What is known of the list. */
export type NotebookListState = { readonly kind: 'loading' } | { readonly kind: 'loaded'; readonly notebooks: readonly Notebook[] } | { readonly kind: 'failed'; readonly reason: string }

/** See the head of this file. */
export class NotebookListReader {
  readonly #project: ProjectId
  #state = $state.raw<NotebookListState>({ kind: 'loading' })

  constructor(project: ProjectId) {
    this.#project = project
  }

  get state(): NotebookListState {
    return this.#state
  }

  async load(): Promise<void> {
    const result = await sendRequest<NotebookList>({ method: 'GET', path: `/api/projects/${this.#project}/notebooks` })
    this.#state = result.kind === 'ok' ? { kind: 'loaded', notebooks: result.value.notebooks } : { kind: 'failed', reason: describe(result) }
  }

  /** Creates a notebook; returns it, or why it failed. */
  async create(title: string): Promise<{ readonly id: NotebookId } | { readonly error: string }> {
    const result = await sendRequest<CreatedNotebook>({ method: 'POST', path: `/api/projects/${this.#project}/notebooks`, body: { title, language: 'python' } })
    return result.kind === 'ok' ? { id: result.value.notebook.id } : { error: describe(result) }
  }
}

function describe(result: { readonly kind: 'refused'; readonly problem: { readonly error: string } } | { readonly kind: 'loggedOut' } | { readonly kind: 'unreachable'; readonly reason: string }): string {
  switch (result.kind) {
    case 'refused':
      return result.problem.error
    case 'loggedOut':
      return 'The login has ended.'
    case 'unreachable':
      return result.reason
  }
}
