/** Events for the tests of this folder. */
import type { Event, Fact } from '../proto/index.ts'

/** An event with this fact; the envelope is made up. */
export function sample(seq: number, fact: Fact, more: Partial<Event> = {}): Event {
  return {
    seq,
    stream: 'sys',
    version: seq,
    id: `e${String(seq)}`,
    at: seq * 1_000_000,
    principal: 'local:ada',
    actor: 'cli',
    command: null,
    cause: null,
    prev: `h${String(seq - 1)}`,
    hash: `h${String(seq)}`,
    ...fact,
    ...more,
  } as Event
}

/** A kind that this UI does not know. */
export const UNKNOWN = { kind: 'SOMETHING_NEW', body: { project: 'p1', words: ['alpha', 'beta'] } } as unknown as Fact

/** A project opened. */
export function opened(project: string, name = project): Fact {
  return { kind: 'PROJECT_OPENED', body: { project, name, slug: name.toLowerCase(), path: `/home/ada/${name}` } }
}

/** A project closed. */
export function closed(project: string): Fact {
  return { kind: 'PROJECT_CLOSED', body: { project } }
}

/** A random but repeatable log of any length. */
export function randomLog(length: number, seed: number): readonly Event[] {
  let state = seed
  const draw = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const facts: readonly ((id: string) => Fact)[] = [
    (id) => opened(id),
    (id) => closed(id),
    () => ({ kind: 'DAEMON_STARTED', body: { pid: draw(9), version: '0.1.0', listen: 'x' } }),
    () => ({ kind: 'DAEMON_STOPPED', body: { reason: 'asked' } }),
    (id) => ({ kind: 'TOKEN_REVOKED', body: { token: id } }),
    () => UNKNOWN,
  ]
  return Array.from({ length }, (_, index) => {
    const id = `p${String(draw(4))}`
    const fact = facts[draw(facts.length)]?.(id) ?? UNKNOWN
    return sample(index + 1, fact, draw(2) === 0 ? {} : { stream: `project/${id}`, actor: 'ui' })
  })
}
