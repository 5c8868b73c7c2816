/** How questions and their ends are put into words. */
import type { AnswerScope, Approval } from '../../proto/index.ts'

/** What an answer that allows is called on its button. */
export const ALLOW: Readonly<Record<AnswerScope, string>> = {
  once: 'Allow once',
  session: 'Allow for the session',
  until: 'Allow for a time…',
  always: 'Allow always…',
}

/** The keys of answers. */
export const KEYS: Readonly<Record<AnswerScope, string | null>> = { once: 'A', session: 'S', until: null, always: null }

/** The keys that answer while a question that offers these answers has the focus. */
export function keysOf({ question }: { readonly question: { readonly choices: readonly { readonly scope: AnswerScope }[] } }): readonly string[] {
  return [...question.choices.flatMap(({ scope }) => KEYS[scope] ?? []), 'D', 'M']
}

/** How far an answer that allowed reaches. */
const REACH: Readonly<Record<AnswerScope, string>> = {
  once: 'once',
  session: 'for the session',
  until: 'for a time',
  always: 'always, by a rule',
}

/** How a question ended, in a few words. */
export function endOf({ status, scope }: Approval): string {
  switch (status) {
    case 'pending':
      return 'Waits for an answer'
    case 'allowed':
      return `Allowed ${REACH[scope ?? 'once']}`
    case 'denied':
      return 'Denied'
    case 'expired':
      return 'Expired: nobody answered in time, so it was denied'
    case 'withdrawn':
      return 'Fell away'
  }
}

/** A parameter of an action, as it was asked. */
export type Param = { readonly name: string; readonly value: string; readonly length: number }

/** Parameters that are long and already on screen as a diff or part by part. */
const SHOWN_ELSEWHERE = new Set(['content', 'patch', 'edits'])

/** The parameters as text; `folded` are those that the diff shows already. */
export function paramsOf({ question }: Approval): { readonly plain: readonly Param[]; readonly folded: readonly Param[] } {
  const { params, diff } = question
  const entries = typeof params === 'object' && params !== null ? Object.entries(params) : [['value', params] as const]
  const all = entries.map(([name, value]): Param => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
    return { name, value: text, length: text.length }
  })
  const isFolded = ({ name }: Param): boolean => diff !== null && SHOWN_ELSEWHERE.has(name)
  return { plain: all.filter((param) => !isFolded(param)), folded: all.filter(isFolded) }
}
