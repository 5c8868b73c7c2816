/** A person sees all that would run, also where the sentence about it is cut. */
import { describe, expect, it } from 'vitest'
import type { Approval } from '../../proto/index.ts'
import { isCutInSentence } from './labels.ts'

function approval(params: unknown, diff: string | null = null): Approval {
  return { question: { params, diff } } as unknown as Approval
}

describe('the sentence about an action', () => {
  it.each([
    [{ command: 'bash', stdin: 'echo ok\n' }, null, false],
    [{ command: 'bash', stdin: `${'echo ok\n'.repeat(60)}git push` }, null, true],
    [{ id: 'p', text: 'x'.repeat(401) }, null, true],
    [{ path: 'a', content: 'x'.repeat(5000) }, '+x', false],
    [{ path: 'a', content: 'x'.repeat(5000) }, null, true],
  ])('of %o shows a part only: %s %s', (params, diff, expected) => {
    expect(isCutInSentence(approval(params, diff))).toBe(expected)
  })
})
