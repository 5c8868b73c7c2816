/** Fuzzy matching of commands. */
import { describe, expect, it } from 'vitest'
import { bestMatches } from './match.ts'

const items = ['Open a project…', 'Go to all events', 'Go to atlas', 'Verify the log', 'Close atlas'].map((title) => ({ title }))
const titles = (letters: string): readonly string[] => bestMatches(items, letters).map(({ title }) => title)

describe('fuzzy matching', () => {
  it('returns everything without letters', () => {
    expect(titles('')).toHaveLength(items.length)
  })

  it.each([
    ['open', 'Open a project…'],
    ['go atl', 'Go to atlas'],
    ['vl', 'Verify the log'],
    ['CLOSE', 'Close atlas'],
  ])('%s finds %s first', (letters, title) => {
    expect(titles(letters)[0]).toBe(title)
  })

  it('returns nothing without a match', () => {
    expect(titles('xyz')).toEqual([])
  })
})
