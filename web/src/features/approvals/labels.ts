/** Labels of approvals, answers and parameters. */
import type { AnswerScope, Approval, GovernanceFileKind } from '../../proto/index.ts'

/** The button labels of the answers that allow. */
const ALLOW_LABELS: Readonly<Record<AnswerScope, string>> = {
  once: 'Allow once',
  session: 'Allow for the session',
  until: 'Allow for a time…',
  always: 'Allow always…',
}

/** The button label of an answer that trusts a file: it does more than allow an action once. */
const TRUST_LABELS: Readonly<Record<GovernanceFileKind, string>> = {
  role: 'Trust this role and continue',
  policy: 'Trust these rules and continue',
  runtime: 'Trust these commands and continue',
}

/** The key of each scope, or null. */
const SCOPE_KEYS: Readonly<Record<AnswerScope, string | null>> = { once: 'A', session: 'S', until: null, always: null }

/** The part of an approval that its keys and labels depend on. */
type Answerable = {
  readonly question: { readonly gate: string | null; readonly trust: { readonly what: GovernanceFileKind } | null; readonly choices: readonly { readonly scope: AnswerScope }[] }
}

/** The label of an answer that allows. What trusts a file or is behind a hard gate has its own. */
export function allowLabel({ question: prompt }: Answerable, scope: AnswerScope): string {
  if (prompt.trust !== null) return TRUST_LABELS[prompt.trust.what]
  return prompt.gate === null ? ALLOW_LABELS[scope] : 'Allow this dangerous action'
}

/** The scopes that a key allows: none behind a hard gate, since a key is pressed by habit. */
export function keyScopes({ question: prompt }: Answerable): readonly AnswerScope[] {
  return prompt.gate === null ? prompt.choices.map(({ scope }) => scope) : []
}

/** The key that allows a scope, or null. */
export function scopeKey(approval: Answerable, scope: AnswerScope): string | null {
  return keyScopes(approval).includes(scope) ? SCOPE_KEYS[scope] : null
}

/** The keys that answer an approval while it has the focus. */
export function answerKeys(approval: Answerable): readonly string[] {
  return [...keyScopes(approval).flatMap((scope) => SCOPE_KEYS[scope] ?? []), 'D', 'M']
}

/** The label of each scope of an answer that allowed. */
const SCOPE_LABELS: Readonly<Record<AnswerScope, string>> = {
  once: 'once',
  session: 'for the session',
  until: 'for a time',
  always: 'always, with a rule',
}

/** The status of an approval in a few words. */
export function statusLabel({ status, scope, question: { trust } }: Approval): string {
  switch (status) {
    case 'pending':
      return 'Pending'
    case 'allowed':
      return trust === null ? `Allowed ${SCOPE_LABELS[scope ?? 'once']}` : 'Trusted'
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

/** How many characters of a parameter the sentence about an action shows. */
const SENTENCE_LENGTH = 400

/** Whether that sentence may show only the beginning of a parameter: then all of it is shown beside it. */
export function isCutInSentence(approval: Approval): boolean {
  return actionParams(approval).plain.some(({ length }) => length > SENTENCE_LENGTH)
}

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
