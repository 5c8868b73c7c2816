/** The waits between attempts. */
import { describe, expect, it } from 'vitest'
import { backoff, LONGEST, SHORTEST } from './backoff.ts'

describe('the wait before the next attempt', () => {
  it('doubles from the shortest to the longest and stays there', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50].map((failures) => backoff(failures, () => 1))
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000])
  })

  it('is drawn from the upper half', () => {
    for (let failures = 0; failures < 40; failures++) {
      const wait = backoff(failures)
      const ceiling = Math.min(LONGEST, SHORTEST * 2 ** failures)
      expect(wait).toBeGreaterThanOrEqual(ceiling / 2)
      expect(wait).toBeLessThanOrEqual(ceiling)
    }
  })
})
