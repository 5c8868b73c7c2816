/**
 * A model provider for one test: an HTTP server that speaks Chat Completions and streams
 * what the test tells it to.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { roleText, write } from './agent.ts'
import { Daemon, expect, login, test as base, type Page } from './daemon.ts'

/** A request to the model, which the test answers. */
export class ModelRequest {
  readonly #response: ServerResponse
  readonly body: { readonly model: string; readonly messages: readonly { readonly role: string; readonly content: unknown }[]; readonly tools?: readonly unknown[] }
  /** Whether the daemon disconnected before the end. */
  disconnected = false
  #headersSent = false
  #calls = 0

  constructor(response: ServerResponse, body: ModelRequest['body']) {
    this.#response = response
    this.body = body
    response.on('close', () => (this.disconnected = !response.writableEnded))
  }

  /** The last message to the model. */
  get lastMessage(): string {
    return JSON.stringify(this.body.messages.at(-1)?.content ?? '')
  }

  /** Streams a piece of text. */
  sendText(text: string): this {
    return this.#send({ delta: { content: text } })
  }

  /** Streams a piece of reasoning. */
  sendReasoning(text: string): this {
    return this.#send({ delta: { reasoning_content: text } })
  }

  /** Streams a tool call. */
  sendCall(tool: string, args: unknown): this {
    const index = this.#calls++
    const call = { index, id: `call_${String(index)}_${String(Math.random()).slice(2, 8)}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }
    return this.#send({ delta: { tool_calls: [call] } })
  }

  /** Ends the completion, normally or at the token limit. */
  end(reason: 'stop' | 'length' = 'stop'): void {
    this.#send({ delta: {}, finish_reason: this.#calls > 0 ? 'tool_calls' : reason })
    this.#write({ choices: [], usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 } })
    this.#response.end('data: [DONE]\n\n')
  }

  /** Responds with an error. */
  fail(status: number, message: string): void {
    this.#response.writeHead(status, { 'content-type': 'application/json' })
    this.#response.end(JSON.stringify({ error: { message, type: 'x' } }))
  }

  #send(choice: object): this {
    return this.#write({ choices: [{ index: 0, ...choice }] })
  }

  #write(chunk: object): this {
    if (!this.#headersSent) this.#response.writeHead(200, { 'content-type': 'text/event-stream' })
    this.#headersSent = true
    this.#response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'model-1', ...chunk })}\n\n`)
    return this
  }
}

/** The provider. */
export class FakeProvider {
  readonly #server: Server
  readonly #queue: ModelRequest[] = []
  #resolveNext: ((request: ModelRequest) => void) | null = null

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts one on a free port. */
  static async start(): Promise<FakeProvider> {
    const server = createServer()
    const model = new FakeProvider(server)
    server.on('request', (request, response) => void model.#handle(request, response))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return model
  }

  /** The daemon configuration for this provider. */
  get config(): string {
    const { port } = this.#server.address() as AddressInfo
    return `model = "fake/model-1"\n[providers.fake]\nwire = "chat"\nbase_url = "http://127.0.0.1:${String(port)}/v1"\nkey = "test-key-0123456789"\n`
  }

  /** The next request. */
  async nextRequest(): Promise<ModelRequest> {
    const first = this.#queue.shift()
    if (first !== undefined) return first
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the model got no request')), 20_000)
      this.#resolveNext = (request) => {
        clearTimeout(timer)
        resolve(request)
      }
    })
  }

  /** Stops the provider. */
  async end(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
      return
    }
    const modelRequest = new ModelRequest(response, JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest['body'])
    const resolveNext = this.#resolveNext
    this.#resolveNext = null
    if (resolveNext === null) this.#queue.push(modelRequest)
    else resolveNext(modelRequest)
  }
}

/** Each test has a provider, and a daemon that uses it. */
export const test = base.extend<{ model: FakeProvider; daemon: Daemon }>({
  model: async ({}, use) => {
    const model = await FakeProvider.start()
    await use(model)
    await model.end()
  },
  daemon: async ({ model }, use) => {
    const daemon = await Daemon.configured(model.config)
    await use(daemon)
    await daemon.end()
  },
})

/** Logs in and opens the chat page. */
export async function openChat(page: Page, daemon: Daemon): Promise<void> {
  await login(page, daemon, '#/projects/app/chat')
  await expect(composer(page)).toBeVisible()
}

/** A project with these files, and all its roles trusted. */
export async function chatProject(daemon: Daemon, files: Readonly<Record<string, string>> = {}): Promise<{ readonly folder: string; readonly project: string }> {
  const folder = await daemon.folder('app')
  await write(folder, '.provost/roles/dev.md', roleText('dev', ['fs.read', 'fs.write', 'terminal.runCommand']))
  for (const [path, text] of Object.entries(files)) await write(folder, path, text)
  const { id: project } = (await daemon.request('POST', '/api/projects', { path: folder })) as { readonly id: string }
  type List = { readonly roles: readonly { readonly file: string; readonly hash: string }[] }
  const { roles } = (await daemon.request('GET', `/api/projects/${project}/roles`)) as List
  for (const { file, hash } of roles) await daemon.request('POST', `/api/projects/${project}/trust`, { what: 'role', file, hash })
  return { folder, project }
}

/** The message input. */
export function composer(page: Page) {
  return page.getByRole('textbox', { name: 'Message' })
}

/** The conversation. */
export function conversation(page: Page) {
  return page.getByRole('log', { name: 'Conversation' })
}

/** The messages of the model. */
export function modelMessages(page: Page) {
  return conversation(page).getByRole('article', { name: /^Model message/ })
}

/** The tool calls of the model. */
export function toolCalls(page: Page) {
  return conversation(page).locator('[data-call]')
}

/** Sends a message. */
export async function sendMessage(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await composer(page).press('Enter')
}

/** The approvals in the conversation. */
export function inlineApprovals(page: Page) {
  return conversation(page).getByRole('group', { name: 'Approval' })
}

/** Clicks a button of an approval in the conversation, once it is enabled. */
export async function clickInlineAnswer(page: Page, name: string | RegExp): Promise<void> {
  const button = inlineApprovals(page).getByRole('button', { name })
  await expect(button).toHaveAttribute('aria-disabled', 'false')
  await button.click()
}
