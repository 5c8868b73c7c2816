/** Finds an event in the rows of the timeline. */
import type { TimelineRows } from '../../store/index.ts'

/** The index of the event with this seq, or -1. Rows are in order. */
export function findRow(rows: TimelineRows, seq: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows.at(middle)?.seq ?? Infinity) < seq) low = middle + 1
    else high = middle
  }
  return rows.at(low)?.seq === seq ? low : -1
}
