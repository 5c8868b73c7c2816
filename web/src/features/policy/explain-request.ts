/** Builds the request that explains a decision from the form. Pure. */
import type { ExplainPolicyRequest, ProjectMode } from '../../proto/index.ts'

/** The values of the form. */
export type ExplainFormValues = {
  readonly action: string
  /** The command, or the parameters as JSON. */
  readonly text: string
  readonly role: string
  readonly mode: ProjectMode | ''
}

/** The actions that can be explained, with an example of their parameters. */
export const EXAMPLES: Readonly<Record<string, string>> = {
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
  'fs.restoreFile': `{ "path": "makefile", "id": "${'0'.repeat(64)}" }`,
}

/** The request, or why the form is invalid. */
export function buildExplainRequest({ action, text, role, mode }: ExplainFormValues): { readonly request: ExplainPolicyRequest } | { readonly error: string } {
  const rest = { action, ...(role.trim() === '' ? {} : { role: role.trim() }), ...(mode === '' ? {} : { mode }) }
  if (action === 'terminal.runCommand' && !text.trimStart().startsWith('{')) {
    return text.trim() === '' ? { error: 'Enter a command.' } : { request: { ...rest, params: { command: text } } }
  }
  try {
    const params: unknown = JSON.parse(text)
    if (typeof params !== 'object' || params === null || Array.isArray(params)) return { error: 'The parameters must be a JSON object.' }
    return { request: { ...rest, params } }
  } catch (error) {
    return { error: `The parameters are not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}.` }
  }
}
