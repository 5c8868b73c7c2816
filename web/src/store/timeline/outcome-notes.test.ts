/** The notes on the outcome of an action. */
import { describe, expect, it } from 'vitest'
import { outcomeNotes } from './outcome-notes.ts'

describe('the notes on an outcome', () => {
  it('name what was set aside, why, and what the agent can do', () => {
    const entry = { path: '.envrc', why: 'shells run it', left: 'former', kept: 'quarantine/1' }
    expect(outcomeNotes({ setAside: { entries: [entry], more: 2, failed: ['x/.git'] } })).toEqual([
      'Set aside: .envrc, because shells run it; its former content is back. It is kept in the data folder as quarantine/1.',
      'Set aside: 2 more.',
      'The agent can ask to put it back: you are then shown its content.',
      'Review this, it could not be set aside: x/.git.',
    ])
  })

  it('name what a failed command lacked', () => {
    expect(outcomeNotes({ noNetwork: true })).toEqual([expect.stringContaining('no network in this profile')])
    expect(outcomeNotes({ unreadable: '/srv/m' })).toEqual([expect.stringContaining('cannot read /srv/m')])
  })

  it.each([null, undefined, 'text', [], {}, { stdoutBytes: 1 }, { setAside: null }, { setAside: { entries: [] } }, { noNetwork: false }])('%j has none', (summary) => {
    expect(outcomeNotes(summary)).toEqual([])
  })
})
