/** Finds an event in the rows of the timeline. */
import { eventNumber } from '../../proto/index.ts'
import type { TimelineRows } from '../../store/index.ts'

/** The index of the event with this number, or -1. */
export function findRow(rows: TimelineRows, number: string): number {
  for (let index = 0; index < rows.length; index++) {
    const event = rows.at(index)
    if (event !== undefined && eventNumber(event) === number) return index
  }
  return -1
}
