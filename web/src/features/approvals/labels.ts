/** Labels of approvals, answers and parameters. */
import type { AnswerScope, Approval } from '../../proto/index.ts'

/** The button labels of the answers that allow. */
export const ALLOW_LABELS: Readonly<Record<AnswerScope, string>> = {
  once: 'Allow once',
  session: 'Allow for the session',
  until: 'Allow for a time…',
  always: 'Allow always…',
}

/** The key of each scope, or null. */
export const SCOPE_KEYS: Readonly<Record<AnswerScope, string | null>> = { once: 'A', session: 'S', until: null, always: null }

/** The keys that answer an approval while it has the focus. */
export function answerKeys({ question: prompt }: { readonly question: { readonly choices: readonly { readonly scope: AnswerScope }[] } }): readonly string[] {
  return [...prompt.choices.flatMap(({ scope }) => SCOPE_KEYS[scope] ?? []), 'D', 'M']
}

/** The label of each scope of an answer that allowed. */
const SCOPE_LABELS: Readonly<Record<AnswerScope, string>> = {
  once: 'once',
  session: 'for the session',
  until: 'for a time',
  always: 'always, with a rule',
}

/** The status of an approval in a few words. */
export function statusLabel({ status, scope }: Approval): string {
  switch (status) {
    case 'pending':
      return 'Pending'
    case 'allowed':
      return `Allowed ${SCOPE_LABELS[scope ?? 'once']}`
    case 'denied':
      return 'Denied'
    case 'expired':
      return 'Expired: denied without an answer'
    case 'withdrawn':
      return 'Withdrawn'
  }
}

/** A parameter of an action. */
export type ActionParam = { readonly name: string; readonly value: string; readonly length: number }

/** Long parameters that the diff already shows. */
const SHOWN_AS_DIFF = new Set(['content', 'patch', 'edits'])

/** The parameters as text; `collapsed` are those that the diff already shows. */
export function actionParams({ question: prompt }: Approval): { readonly plain: readonly ActionParam[]; readonly collapsed: readonly ActionParam[] } {
  const { params, diff } = prompt
  const entries = typeof params === 'object' && params !== null ? Object.entries(params) : [['value', params] as const]
  const all = entries.map(([name, value]): ActionParam => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
    return { name, value: text, length: text.length }
  })
  const isCollapsed = ({ name }: ActionParam): boolean => diff !== null && SHOWN_AS_DIFF.has(name)
  return { plain: all.filter((param) => !isCollapsed(param)), collapsed: all.filter(isCollapsed) }
}
