/** The layout of a list that draws only its visible rows. All rows have the same height. */

/** The dimensions of the list and its viewport, in pixels. */
export type ItemExtent = {
  readonly scrollTop: number
  readonly viewport: number
  readonly rowHeight: number
  readonly count: number
}

/** How many rows are drawn beyond each edge, so that fast scrolling shows no blank. */
export const OVERSCAN = 8

/** The rows to draw: from `start` to `end`, exclusive. */
export function visibleRange(extent: ItemExtent): { readonly start: number; readonly end: number } {
  const { rowHeight, count, viewport } = extent
  const top = Math.min(Math.max(0, extent.scrollTop), Math.max(0, count * rowHeight - viewport))
  const first = Math.floor(top / rowHeight)
  const last = Math.ceil((top + viewport) / rowHeight)
  return { start: Math.max(0, first - OVERSCAN), end: Math.min(count, last + OVERSCAN) }
}

/** Whether the end of the list is visible, with a tolerance of half a row. */
export function atEnd({ scrollTop, viewport, rowHeight, count }: ItemExtent): boolean {
  return scrollTop + viewport >= count * rowHeight - rowHeight / 2
}

/** The scroll position that makes a row fully visible with the least movement. */
export function reveal(index: number, { scrollTop, viewport, rowHeight }: ItemExtent): number {
  const top = index * rowHeight
  if (top < scrollTop) return top
  if (top + rowHeight > scrollTop + viewport) return top + rowHeight - viewport
  return scrollTop
}

/** The scroll position that keeps the visible rows in place after rows were removed (or added, if negative) at the start. */
export function afterDrop(scrollTop: number, rows: number, rowHeight: number): number {
  return Math.max(0, scrollTop - rows * rowHeight)
}

/** By how many rows a key moves the selection; undefined for other keys. */
export function selectionStep(key: string, page: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return 1
    case 'ArrowUp':
    case 'k':
      return -1
    case 'PageDown':
      return Math.max(1, page)
    case 'PageUp':
      return -Math.max(1, page)
    case 'Home':
      return -Infinity
    case 'End':
      return Infinity
    default:
      return undefined
  }
}
