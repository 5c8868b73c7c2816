/** Which events belong to the story of an action. */
import { expect, it } from 'vitest'
import { answered, asked, granted, opened, sample } from '../testing/sample-events.ts'
import { belongs, questionsOf } from './action-report.svelte.ts'

it('are those of the action, of its questions and of what they granted', () => {
  const events = [
    sample(1, opened('p1')),
    sample(2, asked('q1')),
    sample(3, asked('q2')),
    sample(4, answered('q1', 'allow')),
    sample(5, answered('q2', 'deny')),
    sample(6, granted('g1')),
  ]
  const first = events.filter((event) => belongs(event, 'a-q1', new Set()))
  expect(first.map(({ seq }) => seq)).toEqual([2])
  const questions = questionsOf(first)
  expect(events.filter((event) => belongs(event, 'a-q1', questions)).map(({ seq }) => seq)).toEqual([2, 4, 6])
})
