/** Fuzzy matching of palette entries. */

/** The score of a text that contains the letters in this order (higher is better), or null. */
export function matchScore(text: string, letters: string): number | null {
  const wanted = letters.toLowerCase().replace(/\s+/g, '')
  const within = text.toLowerCase()
  if (wanted === '') return 0
  let from = 0
  let total = 0
  for (const letter of wanted) {
    const at = within.indexOf(letter, from)
    if (at < 0) return null
    const begins = at === 0 || /[^a-z0-9]/.test(within[at - 1] ?? '')
    total += (at === from ? 3 : 0) + (begins ? 2 : 0) - Math.min(at - from, 5) * 0.1
    from = at + 1
  }
  return total
}

/** The matching items, best first; equal scores keep their order. */
export function bestMatches<T extends { readonly title: string }>(items: readonly T[], letters: string): readonly T[] {
  return items
    .map((item) => ({ item, rank: matchScore(item.title, letters) }))
    .filter((entry): entry is { item: T; rank: number } => entry.rank !== null)
    .sort((a, b) => b.rank - a.rank)
    .map(({ item }) => item)
}
