/**
 * What the sandbox did to an action, from the summary of its outcome: what was set aside,
 * and what a failed command lacked. Pure. The lines may contain text of an agent.
 */

type Fields = Readonly<Record<string, unknown>>

/** The keys of a summary that the notes cover. */
export const NOTED_KEYS: ReadonlySet<string> = new Set(['setAside', 'unreadable', 'noNetwork'])

/** What is at the path of an entry that was set aside. */
const LEFT: Readonly<Record<string, string>> = { former: '; its former content is back', rest: '; the rest of it is in place' }

/** One line for each note; none for most actions. */
export function outcomeNotes(summary: unknown): readonly string[] {
  if (!isFields(summary)) return []
  const { unreadable, noNetwork, setAside } = summary
  return [
    ...(typeof unreadable === 'string' ? [`Commands cannot read ${unreadable}. If they need it, add it to [sandbox] read in policy.toml.`] : []),
    ...(noNetwork === true ? ['It had no network in this profile. If it needs it, the agent can request the command with network.'] : []),
    ...(isFields(setAside) ? setAsideNotes(setAside) : []),
  ]
}

function setAsideNotes({ entries, more, failed }: Fields): readonly string[] {
  const lines = toList(entries)
    .filter(isFields)
    .map(({ path, why, left, kept }) => `Set aside: ${text(path)}, because ${text(why)}${LEFT[text(left)] ?? ''}. It is kept in the data folder as ${text(kept)}.`)
  const rest = typeof more === 'number' && more > 0 ? [`Set aside: ${String(more)} more.`] : []
  const advice = lines.length === 0 ? [] : ['The agent can request such a file as a file action: you are then asked and shown its content.']
  return [...lines, ...rest, ...advice, ...toList(failed).map((what) => `Review this, it could not be set aside: ${text(what)}.`)]
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
