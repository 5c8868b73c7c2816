/** How long to wait before trying again: longer each time, never in step with others. */

/** The first wait, in milliseconds. */
export const SHORTEST = 500

/** The longest wait, in milliseconds. */
export const LONGEST = 10_000

/**
 * The wait after the given number of failures in a row (0 for the first).
 *
 * Half of it is fixed and half is drawn, so that many pages that lost the same
 * daemon do not all come back in the same instant.
 */
export function backoff(failures: number, random: () => number = Math.random): number {
  const ceiling = Math.min(LONGEST, SHORTEST * 2 ** Math.min(failures, 16))
  return Math.round(ceiling / 2 + (ceiling / 2) * random())
}
