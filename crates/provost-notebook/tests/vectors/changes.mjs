// Writes changes.json: what CodeMirror's change sets do. `npm install @codemirror/state` first:
// node changes.mjs > changes.json
import { ChangeSet, Text } from '@codemirror/state'

let seed = 7
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
  return (seed >>> 8) % below
}
const PIECES = ['a', 'b', '\n', 'ü', '👋', 'xy', '', 'end\n', '"']
const randomText = (length) => Array.from({ length }, () => PIECES[random(PIECES.length)]).join('')

// Cuts only between characters.
const boundaries = (text) => {
  const found = [0]
  for (const character of text) found.push(found.at(-1) + character.length)
  return found
}
const randomChange = (text) => {
  const cuts = boundaries(text)
  const changes = []
  let at = 0
  for (let count = random(4); count > 0 && at < cuts.length; count--) {
    const from = at + random(cuts.length - at)
    const to = from + random(Math.min(3, cuts.length - from))
    changes.push({ from: cuts[from], to: cuts[to], insert: Text.of(randomText(random(3)).split('\n')) })
    at = to + 1
  }
  return ChangeSet.of(changes, text.length)
}
const apply = (changes, text) => changes.apply(Text.of(text.split('\n'))).toString()

const vectors = []
for (let index = 0; index < 300; index++) {
  const text = randomText(random(12))
  const [a, b] = [randomChange(text), randomChange(text)]
  const after = apply(a, text)
  const next = randomChange(after)
  vectors.push({
    text,
    a: a.toJSON(),
    b: b.toJSON(),
    after,
    next: next.toJSON(),
    composed: a.compose(next).toJSON(),
    mapped: b.map(a).toJSON(),
    mappedBefore: a.map(b, true).toJSON(),
    merged: apply(b.map(a), after),
  })
}
console.log(`[\n${vectors.map((vector) => JSON.stringify(vector)).join(',\n')}\n]`)
