/** Notebooks: the list of a project's, and one of them with its cells, outputs and runtimes. */
export { default as NotebooksPage } from './NotebooksPage.svelte'
