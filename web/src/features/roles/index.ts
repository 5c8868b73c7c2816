/** The roles of a project: what agents may ask for. */
export { default as RolesPage } from './RolesPage.svelte'
