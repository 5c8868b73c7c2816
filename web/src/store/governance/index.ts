/** Modes, grants, roles and rules. */
export { grantStatus, type GrantStatus } from './grants.ts'
export type { CurrentMode } from './modes.ts'
