/** Positions in the log: the daemon gives them and takes them back, and nothing here computes with them. */
import type { Event, LogCursor } from './generated.ts'

/** A cursor as it stands in a query, in an address or on the screen. */
export function formatCursor(cursor: LogCursor): string {
  return String(cursor)
}

/** The number of an event as people see and type it: its position as text. */
export function eventNumber(event: Event): string {
  return formatCursor(event.seq)
}
