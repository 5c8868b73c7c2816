/** Formatting of countdowns. */
import { expect, it } from 'vitest'
import { formatCountdown } from './format.ts'

it.each([
  [-5, '0:00'],
  [0, '0:00'],
  [1, '0:01'],
  [999, '0:01'],
  [1_000, '0:01'],
  [61_000, '1:01'],
  [899_001, '15:00'],
  [3_600_000, '1:00:00'],
  [28_799_000, '7:59:59'],
])('%d ms are %s', (ms, text) => {
  expect(formatCountdown(ms)).toBe(text)
})
