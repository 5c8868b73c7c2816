/** What is typed into the form, as the question to the rules. Pure. */
import type { ExplainPolicyRequest, ProjectMode } from '../../proto/index.ts'

/** What was typed and chosen. */
export type Draft = {
  readonly action: string
  /** The command, or the parameters as JSON. */
  readonly text: string
  readonly role: string
  readonly mode: ProjectMode | ''
}

/** The actions that can be asked about, with an example of their parameters. */
export const ACTIONS: Readonly<Record<string, string>> = {
  'terminal.runCommand': 'git push --force',
  'fs.readFile': '{ "path": ".env" }',
  'fs.writeFile': '{ "path": "notes.md", "content": "hello" }',
  'fs.editFile': '{ "path": "notes.md", "edits": [{ "old": "a", "new": "b" }] }',
  'fs.applyPatch': '{ "patch": "--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\\n" }',
  'fs.listFiles': '{ "path": "." }',
  'fs.searchFiles': '{ "pattern": "TODO" }',
  'fs.stat': '{ "path": "." }',
  'fs.createDir': '{ "path": "out" }',
  'fs.moveFile': '{ "from": "a", "to": "b" }',
  'fs.deleteFile': '{ "path": "a" }',
}

/** The question, or why there is none. */
export function explainOf({ action, text, role, mode }: Draft): { readonly ask: ExplainPolicyRequest } | { readonly wrong: string } {
  const rest = { action, ...(role.trim() === '' ? {} : { role: role.trim() }), ...(mode === '' ? {} : { mode }) }
  if (action === 'terminal.runCommand' && !text.trimStart().startsWith('{')) {
    return text.trim() === '' ? { wrong: 'Type a command first.' } : { ask: { ...rest, params: { command: text } } }
  }
  try {
    const params: unknown = JSON.parse(text)
    if (typeof params !== 'object' || params === null || Array.isArray(params)) return { wrong: 'The parameters must be a JSON object.' }
    return { ask: { ...rest, params } }
  } catch (error) {
    return { wrong: `The parameters are no JSON: ${error instanceof Error ? error.message : 'unreadable'}.` }
  }
}
