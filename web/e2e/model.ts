/**
 * A provider of models for one test: a real HTTP server that speaks Chat Completions
 * and says what the test tells it to, piece by piece if the test likes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { roleText, write } from './agent.ts'
import { Daemon, expect, login, test as base, type Page } from './provost.ts'

/** A call that the model makes. */
export type Calls = { readonly tool: string; readonly args: unknown }

/** A request to the model that the test answers as it likes. */
export class Asked {
  readonly #response: ServerResponse
  readonly body: { readonly model: string; readonly messages: readonly { readonly role: string; readonly content: unknown }[]; readonly tools?: readonly unknown[] }
  /** Whether the daemon went away before the end. */
  gone = false
  #begun = false
  #calls = 0

  constructor(response: ServerResponse, body: Asked['body']) {
    this.#response = response
    this.body = body
    response.on('close', () => (this.gone = !response.writableEnded))
  }

  /** What the model was told last. */
  get last(): string {
    return JSON.stringify(this.body.messages.at(-1)?.content ?? '')
  }

  /** Says a piece of text. */
  say(text: string): this {
    return this.#send({ delta: { content: text } })
  }

  /** Thinks a piece. */
  think(text: string): this {
    return this.#send({ delta: { reasoning_content: text } })
  }

  /** Calls a tool. */
  call(tool: string, args: unknown): this {
    const index = this.#calls++
    const call = { index, id: `call_${String(index)}_${String(Math.random()).slice(2, 8)}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }
    return this.#send({ delta: { tool_calls: [call] } })
  }

  /** Ends the answer, in order or because it is as long as it may be. */
  end(why: 'stop' | 'length' = 'stop'): void {
    this.#send({ delta: {}, finish_reason: this.#calls > 0 ? 'tool_calls' : why })
    this.#write({ choices: [], usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 } })
    this.#response.end('data: [DONE]\n\n')
  }

  /** Refuses, as a provider does. */
  fail(status: number, message: string): void {
    this.#response.writeHead(status, { 'content-type': 'application/json' })
    this.#response.end(JSON.stringify({ error: { message, type: 'x' } }))
  }

  #send(choice: object): this {
    return this.#write({ choices: [{ index: 0, ...choice }] })
  }

  #write(chunk: object): this {
    if (!this.#begun) this.#response.writeHead(200, { 'content-type': 'text/event-stream' })
    this.#begun = true
    this.#response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'model-1', ...chunk })}\n\n`)
    return this
  }
}

/** A provider. */
export class Model {
  readonly #server: Server
  readonly #waiting: Asked[] = []
  #wanted: ((asked: Asked) => void) | null = null

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts one on a free port. */
  static async start(): Promise<Model> {
    const server = createServer()
    const model = new Model(server)
    server.on('request', (request, response) => void model.#take(request, response))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return model
  }

  /** What the daemon's configuration says of it. */
  get config(): string {
    const { port } = this.#server.address() as AddressInfo
    return `model = "fake/model-1"\n[providers.fake]\nwire = "chat"\nbase_url = "http://127.0.0.1:${String(port)}/v1"\nkey = "test-key-0123456789"\n`
  }

  /** The next request. */
  async asked(): Promise<Asked> {
    const first = this.#waiting.shift()
    if (first !== undefined) return first
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the model was not asked')), 20_000)
      this.#wanted = (asked) => {
        clearTimeout(timer)
        resolve(asked)
      }
    })
  }

  /** Ends it. */
  async end(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
      return
    }
    const asked = new Asked(response, JSON.parse(Buffer.concat(pieces).toString()) as Asked['body'])
    const wanted = this.#wanted
    this.#wanted = null
    if (wanted === null) this.#waiting.push(asked)
    else wanted(asked)
  }
}

/** Each test has a provider, and a daemon that asks it. */
export const test = base.extend<{ model: Model; daemon: Daemon }>({
  model: async ({}, use) => {
    const model = await Model.start()
    await use(model)
    await model.end()
  },
  daemon: async ({ model }, use) => {
    const daemon = await Daemon.configured(model.config)
    await use(daemon)
    await daemon.end()
  },
})

/** Logs in, where a session begins. */
export async function chat(page: Page, daemon: Daemon): Promise<void> {
  await login(page, daemon, '#/projects/app/chat')
  await expect(composer(page)).toBeVisible()
}

/** A project with a role that is trusted, and those among the files. */
export async function talkative(daemon: Daemon, files: Readonly<Record<string, string>> = {}): Promise<{ readonly folder: string; readonly project: string }> {
  const folder = await daemon.folder('app')
  await write(folder, '.provost/roles/dev.md', roleText('dev', ['fs.read', 'fs.write', 'terminal.runCommand']))
  for (const [path, text] of Object.entries(files)) await write(folder, path, text)
  const { id: project } = (await daemon.ask('POST', '/api/projects', { path: folder })) as { readonly id: string }
  type List = { readonly roles: readonly { readonly file: string; readonly hash: string }[] }
  const { roles } = (await daemon.ask('GET', `/api/projects/${project}/roles`)) as List
  for (const { file, hash } of roles) await daemon.ask('POST', `/api/projects/${project}/trust`, { what: 'role', file, hash })
  return { folder, project }
}

/** Where a person writes. */
export function composer(page: Page) {
  return page.getByRole('textbox', { name: 'Message' })
}

/** The conversation. */
export function conversation(page: Page) {
  return page.getByRole('log', { name: 'Conversation' })
}

/** What the model said, or says. */
export function answers(page: Page) {
  return conversation(page).getByRole('article', { name: /^The model sa/ })
}

/** The calls of the model. */
export function calls(page: Page) {
  return conversation(page).locator('[data-call]')
}

/** Says something. */
export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await composer(page).press('Enter')
}

/** The requests in the conversation. */
export function requests(page: Page) {
  return conversation(page).getByRole('group', { name: 'A request' })
}

/** The button of a request in the conversation, once it may be pressed. */
export async function pressHere(page: Page, name: string | RegExp): Promise<void> {
  const button = requests(page).getByRole('button', { name })
  await expect(button).toHaveAttribute('aria-disabled', 'false')
  await button.click()
}
