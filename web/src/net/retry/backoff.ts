/** Exponential backoff with jitter between connection attempts. */

/** The first delay, in milliseconds. */
export const MIN_DELAY_MS = 500

/** The longest delay, in milliseconds. */
export const MAX_DELAY_MS = 10_000

/**
 * The delay in milliseconds after this many consecutive failures (0 for the first).
 *
 * Half of it is fixed and half is random, so that many pages that lost the same
 * daemon do not reconnect at the same moment.
 */
export function backoffDelay(failures: number, random: () => number = Math.random): number {
  const ceiling = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** Math.min(failures, 16))
  return Math.round(ceiling / 2 + (ceiling / 2) * random())
}
