/** Delays between connection attempts. */
import { describe, expect, it } from 'vitest'
import { backoffDelay, MAX_DELAY_MS, MIN_DELAY_MS } from './backoff.ts'

describe('the backoff delay', () => {
  it('doubles from the minimum to the maximum and stays there', () => {
    const delays = [0, 1, 2, 3, 4, 5, 50].map((failures) => backoffDelay(failures, () => 1))
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000])
  })

  it('is random within the upper half', () => {
    for (let failures = 0; failures < 40; failures++) {
      const delay = backoffDelay(failures)
      const ceiling = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** failures)
      expect(delay).toBeGreaterThanOrEqual(ceiling / 2)
      expect(delay).toBeLessThanOrEqual(ceiling)
    }
  })
})
