/**
 * The wire types, as the Rust side generates them.
 *
 * Everything above imports from here, never from `generated.ts` itself.
 */
export type * from './generated.ts'
