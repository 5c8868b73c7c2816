/** The projects of the log. */
export type { Projects } from './projects.ts'
