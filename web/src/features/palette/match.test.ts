/** Finding a command by a few letters. */
import { describe, expect, it } from 'vitest'
import { best } from './match.ts'

const items = ['Open a project…', 'Go to all events', 'Go to atlas', 'Verify the log', 'Close atlas'].map((title) => ({ title }))
const titles = (letters: string): readonly string[] => best(items, letters).map(({ title }) => title)

describe('a few letters', () => {
  it('find everything when there are none', () => {
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

  it('find nothing that is not there', () => {
    expect(titles('xyz')).toEqual([])
  })
})
