/**
 * The wire types, as the Rust side generates them, and the one thing that may be done with a
 * cursor.
 *
 * Everything above imports from here, never from `generated.ts` itself.
 */
export type * from './generated.ts'
export { INPUT_KINDS, MAX_TERMINAL_INPUT_BYTES, OUTPUT_KINDS, TERMINAL_ACK_BYTES, TERMINAL_FRAME_HEADER_BYTES, TERMINAL_SUBPROTOCOL } from './generated.ts'
export { eventNumber, formatCursor } from './log-cursor.ts'
