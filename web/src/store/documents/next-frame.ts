/** Waiting for the next frame, so that many changes are drawn once. */

const HIDDEN_FRAME_MS = 200

/** Resolves at the next animation frame, or after a timer while the page is hidden. */
export function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve, HIDDEN_FRAME_MS)
    else requestAnimationFrame(() => resolve())
  })
}
