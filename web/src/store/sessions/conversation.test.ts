/** Conversations: folded from the log, the same for any split. */
import { describe, expect, it } from 'vitest'
import type { Event, Fact, SessionDetail } from '../../proto/index.ts'
import { foldActionDetails, foldConversation, type Conversation } from './conversation.ts'
import { foldEvents, EMPTY_PROJECTION } from '../log/projection.ts'
import { sampleEvent, truncated } from '../testing/sample-events.ts'
import { sessionsOf, titleOf, withSessions, type SessionEvent } from './sessions.ts'

const [session, turn, project] = ['s1', 't1', 'p1']
const inSession = { stream: 'session/s1' } as const

const FACTS: readonly Fact[] = [
  { kind: 'SESSION_OPENED', body: { session, project, role: 'dev', model: 'fake/m', budget: {}, depth: 0 } },
  { kind: 'MESSAGE_ADDED', body: { session, item: 0, message: 'm0', turn, from: 'user', parts: [{ type: 'text', text: '\n  Fix it \nplease' }] } },
  { kind: 'TURN_STARTED', body: { session, turn, message: 'm0', item: 0 } },
  { kind: 'REASONING_DELTA', body: { session, turn, text: 'Hm' } },
  { kind: 'TEXT_DELTA', body: { session, turn, text: 'void' } },
  { kind: 'ATTEMPT_FAILED', body: { session, turn, attempt: 2, retryInMs: 500, why: 'busy' } },
  { kind: 'ATTEMPT_RESTARTED', body: { session, turn, attempt: 2 } },
  { kind: 'TEXT_DELTA', body: { session, turn, text: 'I ' } },
  { kind: 'TEXT_DELTA', body: { session, turn, text: 'read.' } },
  { kind: 'TOOL_DELTA', body: { session, turn, index: 0, tool: 'fs.readFile', text: '{"pa' } },
  { kind: 'TOOL_DELTA', body: { session, turn, index: 0, text: 'th":"a"}' } },
  { kind: 'MESSAGE_ADDED', body: { session, item: 1, message: 'm1', turn, from: 'assistant', parts: [{ type: 'text', text: 'I read.' }] } },
  { kind: 'USAGE_RECORDED', body: { session, project, turn, model: 'fake/m', day: 1, purpose: 'answer', usage: { input: 10, output: 4, cachedInput: 0, cacheWrite: 0, reasoning: 1 }, cost: 700 } },
  { kind: 'TOOL_CALLED', body: { session, turn, item: 2, call: 'c', tool: 'fs.readFile', arguments: '{"path":"a"}', action: 'a1' } },
  { kind: 'MESSAGE_ADDED', body: { session, item: 3, message: 'm3', turn: null, from: 'user', parts: [{ type: 'text', text: 'and b' }] } },
  { kind: 'TOOL_RETURNED', body: { session, turn, item: 2, call: 'c', status: 'ok', output: 'text' } },
  { kind: 'TURN_FINISHED', body: { session, turn, reason: 'done' } },
  { kind: 'TURN_STARTED', body: { session, turn: 't2', message: 'm3', item: 3 } },
  { kind: 'SESSION_COMPACTED', body: { session, turn: 't2', item: 4, summary: 'read a' } },
  { kind: 'TURN_INTERRUPTED', body: { session, turn: 't2', why: 'ended' } },
  { kind: 'TURN_FINISHED', body: { session, turn: 't2', reason: 'done' } },
]
const EVENTS = FACTS.map((fact, index) => sampleEvent(index + 1, fact, inSession)) as readonly SessionEvent[]

/** The conversation as the daemon would return it after this many events. */
function conversationAfter(count: number): Conversation {
  const view = foldEvents(EMPTY_PROJECTION, EVENTS.slice(0, 1)).sessions.all.get(session)
  if (view === undefined) throw new Error('no session')
  const start: SessionDetail = { session: view, items: [], draft: null, cursor: 1 }
  return EVENTS.slice(1, count).reduce(foldConversation, start)
}

describe('a conversation', () => {
  it('is the same wherever the fetched state ends', () => {
    const whole = conversationAfter(EVENTS.length)
    for (let cut = 1; cut < EVENTS.length; cut++) expect(EVENTS.reduce(foldConversation, conversationAfter(cut)), `from ${String(cut)}`).toEqual(whole)
  })

  it('has a draft without what a failed attempt wrote', () => {
    expect(conversationAfter(5).draft).toMatchObject({ reasoning: 'Hm', text: 'void' })
    expect(conversationAfter(6).draft?.retrying).toEqual({ attempt: 2, at: 6_500_000, why: 'busy' })
    expect(conversationAfter(7).draft).toMatchObject({ reasoning: '', text: '', retrying: null })
    expect(conversationAfter(11).draft).toMatchObject({ text: 'I read.', calls: [{ tool: 'fs.readFile', arguments: '{"path":"a"}' }] })
    expect(conversationAfter(12).draft).toMatchObject({ text: '', calls: [] })
    expect(conversationAfter(17).draft).toBeNull()
  })

  it('has each item once, with its result', () => {
    const { items, session: view } = conversationAfter(EVENTS.length)
    expect(items.map(({ item, turn: turnId, content }) => [item, turnId, content.type])).toEqual([
      [0, 't1', 'message'],
      [1, 't1', 'message'],
      [2, 't1', 'tool'],
      [3, 't2', 'message'],
      [4, 't2', 'compacted'],
    ])
    expect(items[2]?.content).toMatchObject({ result: { status: 'ok', output: 'text' } })
    expect(conversationAfter(15).session.queued).toEqual([{ message: 'm3', item: 3 }])
    // A turn ends once.
    expect(view).toMatchObject({ status: 'interrupted', turn: { id: 't2', status: 'interrupted' }, queued: [], compacted: 4, cost: 700, usage: { input: 10, output: 4 } })
  })
})

describe('a message that is sent during a turn', () => {
  const message = (item: number, turnId: string | null, text: string, from: 'user' | 'assistant'): Fact => ({
    kind: 'MESSAGE_ADDED',
    body: { session, item, message: `m${String(item)}`, turn: turnId, from, parts: [{ type: 'text', text }] },
  })
  const facts: readonly Fact[] = [
    message(0, null, 'first', 'user'),
    { kind: 'TURN_STARTED', body: { session, turn: 't1', message: 'm0', item: 0 } },
    message(1, null, 'second', 'user'),
    message(2, null, 'third', 'user'),
    message(3, 't1', 'answer', 'assistant'),
    { kind: 'MESSAGE_WITHDRAWN', body: { session, item: 2, message: 'm2' } },
    { kind: 'TURN_FINISHED', body: { session, turn: 't1', reason: 'done' } },
    { kind: 'TURN_STARTED', body: { session, turn: 't2', message: 'm1', item: 1 } },
    message(4, 't2', 'more', 'assistant'),
  ]
  const after = (count: number): Conversation =>
    facts.slice(0, count).reduce((conversation, fact, index) => foldConversation(conversation, sampleEvent(index + 2, fact, inSession) as SessionEvent), conversationAfter(1))
  const order = (conversation: Conversation): readonly number[] => conversation.items.map(({ item }) => item)

  it('comes after the answer that it waited for', () => {
    expect(order(after(5))).toEqual([0, 3, 1, 2])
    expect(order(after(9))).toEqual([0, 3, 1, 4])
  })

  it('is removed from the queue when it is withdrawn', () => {
    expect(after(5).session.queued.map(({ message }) => message)).toEqual(['m1', 'm2'])
    expect(after(6).session.queued.map(({ message }) => message)).toEqual(['m1'])
    expect(order(after(6))).toEqual([0, 3, 1])
  })
})

describe('the list of sessions', () => {
  it('counts the usage of a handed-off task in the parent session', () => {
    const usage = { input: 100, output: 20, cachedInput: 0, cacheWrite: 0, reasoning: 0 }
    const used: Fact = { kind: 'TASK_USED', body: { session, turn: 't1', by: 's2', usage, cost: 50 } }
    const before = conversationAfter(14)
    const after = foldConversation(before, sampleEvent(15, used, inSession) as SessionEvent).session
    expect(after).toMatchObject({ cost: 750, usage: { input: 110, output: 24 }, handed: { cost: 50, usage: { input: 100 } }, context: before.session.context })
    expect(after.turn).toMatchObject({ calls: 2, cost: 750 })
    expect(foldConversation(before, sampleEvent(15, { kind: 'TASK_USED', body: { ...used.body, turn: null } } as Fact, inSession) as SessionEvent).session.turn?.calls).toBe(1)
  })

  it('agrees with the conversation', () => {
    const listed = foldEvents(EMPTY_PROJECTION, EVENTS).sessions
    const { items: _, ...whole } = conversationAfter(EVENTS.length).session
    expect(sessionsOf(listed, project)[0]).toMatchObject({ ...whole, title: 'Fix it' })
    expect(sessionsOf(listed, 'p2')).toEqual([])
  })

  it('keeps how each turn ended', () => {
    const ended = (count: number) => (foldEvents(EMPTY_PROJECTION, EVENTS.slice(0, count)).sessions.endedTurns.get(session) ?? []).map(({ id, status, reason }) => [id, status, reason])
    expect(ended(5)).toEqual([])
    expect(ended(EVENTS.length)).toEqual([['t1', 'finished', 'done'], ['t2', 'interrupted', null]])
  })

  it('does not change with a text delta', () => {
    const before = foldEvents(EMPTY_PROJECTION, EVENTS.slice(0, 7))
    expect(foldEvents(before, EVENTS.slice(7, 11))).toBe(before)
  })

  it('takes fetched sessions for truncated events, and keeps what is newer', () => {
    const named = foldEvents(EMPTY_PROJECTION, [EVENTS[0] as Event, sampleEvent(2, truncated(FACTS[1] as Fact), inSession)]).sessions
    expect(named.truncatedSeq).toBe(2)
    const asked = withSessions(named, [{ ...conversationAfter(2).session, updatedAt: 2_000_000 }])
    expect(asked.all.get(session)?.title).toBe('Fix it')
    expect(withSessions(asked, [{ ...conversationAfter(1).session, updatedAt: 1 }]).all.get(session)?.title).toBe('Fix it')
  })

  it('has titles that do not split a character', () => {
    expect(titleOf([{ type: 'text', text: '😀'.repeat(100) }])).toBe('😀'.repeat(80))
  })
})

describe('the details of an action', () => {
  it('hold the output of the conversation’s own actions, up to a limit', () => {
    const printed = (action: string, text: string): Event =>
      sampleEvent(1, { kind: 'ACTION_OUTPUT', body: { project, action, output: { stream: 'stdout', data: { text }, dropped: 0 } } } as unknown as Fact)
    const mine = (action: string): boolean => action === 'a1'
    const details = [printed('a1', 'one\n'), printed('a2', 'no\n'), printed('a1', 'two\n')].reduce((was, event) => foldActionDetails(was, event, mine), new Map() as ReturnType<typeof foldActionDetails>)
    expect([...details]).toEqual([['a1', { output: 'one\ntwo\n', diff: null, notes: [] }]])
    const outcome = { exitCode: 6, signal: null, durationMs: 1, fault: null, summary: { noNetwork: true } }
    const ended = sampleEvent(2, { kind: 'ACTION_FINISHED', body: { project, action: 'a1', report: 2, outcome } })
    expect(foldActionDetails(details, ended, mine).get('a1')).toMatchObject({ output: 'one\ntwo\n', notes: [expect.stringContaining('no network') as string] })
    const long = foldActionDetails(details, printed('a1', 'x'.repeat(100_000)), mine)
    expect(long.get('a1')?.output).toHaveLength(65_536)
  })
})
