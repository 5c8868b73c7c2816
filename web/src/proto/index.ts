/**
 * The wire types, as the Rust side generates them, and the one thing that may be done with a
 * cursor.
 *
 * Everything above imports from here, never from `generated.ts` itself.
 */
export type * from './generated.ts'
export { eventNumber, formatCursor } from './log-cursor.ts'
