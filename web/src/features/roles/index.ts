/** The roles of a project: which actions agents may request. */
export { default as RolesPage } from './RolesPage.svelte'
