/**
 * An agent that reads, writes and runs commands in a project through Provost.
 *
 * It needs Node 20 or newer and no packages; README.md says how to run it.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

type Status = 'requested' | 'waiting' | 'allowed' | 'running' | 'denied' | 'finished'

/** The response to a submitted action. */
interface Submitted {
  actionId: string
  status: Status
  /** Set when the action has ended. */
  result: unknown
}

/** An action, as `GET /api/actions/{id}` shows it. */
interface Action {
  status: Status
  outcome: { fault?: { code: string; message: string } } | null
  result?: unknown
}

/** A refused or failed request. Branch on `code`: it is stable, the message is not. */
class ProvostError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(`${code}: ${message}`)
    this.code = code
  }
}

/** A client for one project. */
class Provost {
  readonly #url: string
  readonly #project: string
  readonly #token: string

  constructor(url: string, project: string, token: string) {
    this.#url = url
    this.#project = project
    this.#token = token
  }

  /** Sends a request and returns the JSON body of the response. */
  async request<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
    const headers = new Headers({ authorization: `Bearer ${this.#token}` })
    if (key !== undefined) headers.set('idempotency-key', key)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) }
    const response = await fetch(this.#url + path, init)
    if (!response.ok) {
      // All errors have the same body: {"error": "…", "code": "POLICY_DENIED", "status": 403}.
      const { error, code } = (await response.json()) as { error: string; code: string }
      throw new ProvostError(code, error)
    }
    return (await response.json()) as T
  }

  /**
   * Asks for an action and waits for its end, at most `wait` milliseconds.
   *
   * The response is 200 with the result when the action has ended, and 202 while it runs or waits
   * for a person. A denied action is 403, which `request` throws.
   */
  submit(action: string, params: object, { wait = 0, key }: { wait?: number; key?: string } = {}) {
    const path = `/api/projects/${this.#project}/actions?wait=${wait}`
    return this.request<Submitted>('POST', path, { action, params }, key)
  }

  /**
   * Returns the result of a submitted action; waits for its end if it got a 202.
   *
   * This ends in any case: a question that nobody answers expires, 15 minutes by default.
   */
  async outcome<T>(submitted: Submitted): Promise<T> {
    if (submitted.status === 'finished') return submitted.result as T
    for (;;) {
      const action = await this.request<Action>('GET', `/api/actions/${submitted.actionId}`)
      if (action.status === 'finished' || action.status === 'denied') {
        const fault = action.outcome?.fault
        if (fault) throw new ProvostError(fault.code, fault.message)
        return action.result as T
      }
      await sleep(250)
    }
  }

  /** Stops an action that runs, or withdraws one that waits for a person. */
  cancel(submitted: Submitted) {
    return this.request<{ stopping: boolean }>('POST', `/api/actions/${submitted.actionId}/cancel`)
  }
}

function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`set ${name}; README.md says how`)
  return value
}

/** Returns the error that Provost answers with; anything else is a failure of this program. */
async function refusal(work: Promise<unknown>): Promise<ProvostError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ProvostError) return error
    throw error
  }
  throw new Error('this should have been refused')
}

const provost = new Provost(
  process.env.PROVOST_URL ?? 'http://127.0.0.1:3001',
  variable('PROVOST_PROJECT'),
  variable('PROVOST_TOKEN'),
)

// A read passes without a question, for a role with the skill `fs.read`.
const read = await provost.submit('fs.readFile', { path: 'README.md' })
const file = await provost.outcome<{ content: string }>(read)
console.log(`read README.md: ${file.content.split('\n')[0]}`)

// A write needs a person's approval. Without `wait` the response comes at once.
const note = { path: 'notes.md', content: 'An agent was here.\n' }
const key = randomUUID()
const write = await provost.submit('fs.writeFile', note, { key })
console.log(`write notes.md: ${write.status}`)
await provost.outcome(write)
console.log('write notes.md: finished')

// After a broken connection, send the request again with the same key: it happens once.
const again = await refusal(provost.submit('fs.writeFile', note, { key }))
console.log(`write notes.md again: ${again.message}`)

// A command. Here the response waits for the person and for the command, up to a minute.
const run = await provost.submit('terminal.runCommand', { command: 'cat notes.md' }, { wait: 60_000 })
const { exitCode, stdout } = await provost.outcome<{ exitCode: number; stdout: string }>(run)
console.log(`run cat: exit code ${exitCode}: ${stdout.trimEnd()}`)

// An agent may change its mind, also while the person has not answered.
const sleeping = await provost.submit('terminal.runCommand', { command: 'sleep 600' })
await provost.cancel(sleeping)
console.log(`run sleep: ${(await refusal(provost.outcome(sleeping))).message}`)

// What the person's rules, the role or Provost itself forbid is denied without a question.
const role = { path: '.provost/roles/admin.md', content: 'x' }
console.log(`write a role: ${(await refusal(provost.submit('fs.writeFile', role))).message}`)
