/** An agent as a script: a role, a token that has it, and what it asks for. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Daemon } from './provost.ts'

/** What a request came to. */
export type Came = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** A project with a role that is trusted, and an agent that has it. */
export type Agent = {
  readonly folder: string
  readonly project: string
  readonly token: string
  /** Asks for an action and waits for its end. */
  readonly ask: (action: string, params: unknown, waitMs?: number) => Promise<Came>
}

/** The text of a role. */
export function roleText(name: string, skills: readonly string[], description = 'Work of a test.'): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\nskills: [${skills.join(', ')}]\n---\nYou are a test.\n`
}

/** Writes a file below a folder, and the folders it needs. */
export async function write(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

/** Opens a folder as a project and makes an agent in it; `trusted` says whether its role is. */
export async function agent(daemon: Daemon, name = 'alpha', trusted: 'trusted' | 'untrusted' = 'trusted'): Promise<Agent> {
  const folder = await daemon.folder(name)
  await write(folder, '.provost/roles/backend.md', roleText('backend', ['fs.read', 'fs.write', 'terminal.runCommand']))
  const { id: project } = (await daemon.ask('POST', '/api/projects', { path: folder })) as { readonly id: string }
  if (trusted === 'trusted') await trustRole(daemon, project, 'backend')
  const { token } = (await daemon.ask('POST', '/api/tokens', { class: 'agent', project, role: 'backend', label: 'test agent' })) as { readonly token: string }
  const ask = async (action: string, params: unknown, waitMs = 60_000): Promise<Came> => {
    const response = await fetch(`${daemon.origin}/api/projects/${project}/actions?wait=${String(waitMs)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ action, params }),
    })
    return { status: response.status, body: (await response.json()) as Came['body'] }
  }
  return { folder, project, token, ask }
}

/** Trusts a role as it is. */
export async function trustRole(daemon: Daemon, project: string, name: string): Promise<void> {
  type List = { readonly roles: readonly { readonly name: string; readonly file: string; readonly hash: string }[] }
  const { roles } = (await daemon.ask('GET', `/api/projects/${project}/roles`)) as List
  const role = roles.find((one) => one.name === name)
  if (role === undefined) throw new Error(`no role ${name} among ${JSON.stringify(roles)}`)
  await daemon.ask('POST', `/api/projects/${project}/trust`, { what: 'role', file: role.file, hash: role.hash })
}
