/** A scripted agent: a role, a token with that role, and its requests. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Daemon } from './daemon.ts'

/** The response to an action request. */
export type ActionResult = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** A project with a role, and an agent with that role. */
export type Agent = {
  readonly folder: string
  readonly project: string
  readonly token: string
  /** Requests an action and waits for its end. */
  readonly request: (action: string, params: unknown, waitMs?: number) => Promise<ActionResult>
}

/** The text of a role file. */
export function roleText(name: string, skills: readonly string[], description = 'Work of a test.'): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\nskills: [${skills.join(', ')}]\n---\nYou are a test.\n`
}

/** Writes a file below a folder, as editors do: it is never seen half written. Creates missing folders. */
export async function write(folder: string, path: string, text: string): Promise<void> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

/** Opens a folder as a project and creates an agent in it, with a trusted or untrusted role. */
export async function agent(daemon: Daemon, name = 'alpha', trusted: 'trusted' | 'untrusted' = 'trusted'): Promise<Agent> {
  const folder = await daemon.folder(name)
  await write(folder, '.provost/roles/backend.md', roleText('backend', ['fs.read', 'fs.write', 'terminal.runCommand']))
  const { id: project } = (await daemon.request('POST', '/api/projects', { path: folder })) as { readonly id: string }
  if (trusted === 'trusted') await trustRole(daemon, project, 'backend')
  const { token } = (await daemon.request('POST', '/api/tokens', { class: 'agent', project, role: 'backend', label: 'test agent' })) as { readonly token: string }
  const request = async (action: string, params: unknown, waitMs = 60_000): Promise<ActionResult> => {
    const response = await fetch(`${daemon.origin}/api/projects/${project}/actions?wait=${String(waitMs)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ action, params }),
    })
    return { status: response.status, body: (await response.json()) as ActionResult['body'] }
  }
  return { folder, project, token, request }
}

/** Trusts a role with its current content. */
export async function trustRole(daemon: Daemon, project: string, name: string): Promise<void> {
  type List = { readonly roles: readonly { readonly name: string; readonly file: string; readonly hash: string }[] }
  const { roles } = (await daemon.request('GET', `/api/projects/${project}/roles`)) as List
  const role = roles.find((candidate) => candidate.name === name)
  if (role === undefined) throw new Error(`no role ${name} among ${JSON.stringify(roles)}`)
  await daemon.request('POST', `/api/projects/${project}/trust`, { what: 'role', file: role.file, hash: role.hash })
}
