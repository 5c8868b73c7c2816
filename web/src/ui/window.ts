/** The arithmetic of a list that draws only what can be seen. Rows have one height. */

/** What is known of the list and its viewport; lengths in pixels. */
export type Extent = {
  readonly scrollTop: number
  readonly viewport: number
  readonly rowHeight: number
  readonly count: number
}

/** Rows drawn beyond each edge, so that a fast scroll shows no blank. */
export const OVERSCAN = 8

/** The rows to draw: from `start` up to, and without, `end`. */
export function windowOf(extent: Extent): { readonly start: number; readonly end: number } {
  const { rowHeight, count, viewport } = extent
  const top = Math.min(Math.max(0, extent.scrollTop), Math.max(0, count * rowHeight - viewport))
  const first = Math.floor(top / rowHeight)
  const last = Math.ceil((top + viewport) / rowHeight)
  return { start: Math.max(0, first - OVERSCAN), end: Math.min(count, last + OVERSCAN) }
}

/** Whether the end of the list is in sight, give or take half a row. */
export function atEnd({ scrollTop, viewport, rowHeight, count }: Extent): boolean {
  return scrollTop + viewport >= count * rowHeight - rowHeight / 2
}

/** Where to scroll so that a row is wholly in sight, moving as little as possible. */
export function reveal(index: number, { scrollTop, viewport, rowHeight }: Extent): number {
  const top = index * rowHeight
  if (top < scrollTop) return top
  if (top + rowHeight > scrollTop + viewport) return top + rowHeight - viewport
  return scrollTop
}

/** Where to scroll so that the same rows stay in place when some left at the start. */
export function afterDrop(scrollTop: number, rows: number, rowHeight: number): number {
  return Math.max(0, scrollTop - rows * rowHeight)
}

/** How many rows a key moves the selection; undefined for a key that does not. */
export function stepOf(key: string, page: number): number | undefined {
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
