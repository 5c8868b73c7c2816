/** Attacks of a page on another origin, in a browser that is logged in. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { agent } from './agent.ts'
import { expect, login, test } from './daemon.ts'

/** Serves one page on a free loopback port, for any host name. */
async function serve(html: string): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, port: (server.address() as AddressInfo).port }
}

// The port is not part of a "site": from 127.0.0.1 a SameSite cookie is sent, from localhost it is not.
for (const host of ['127.0.0.1', 'localhost']) {
  test(`a page on another port of ${host} can neither read, write nor frame`, async ({ page, context, daemon }) => {
    await login(page, daemon)
    const path = await daemon.folder('victim')
    const { server, port } = await serve('<!doctype html><title>attack</title><body></body>')
    try {
      const attack = await context.newPage()
      await attack.goto(`http://${host}:${String(port)}/`)
      const results = await attack.evaluate(
        async ([target, folder]) => {
          const body = JSON.stringify({ path: folder })
          const attempt = async (init: RequestInit, url: string): Promise<string> => {
            try {
              const response = await fetch(target + url, { credentials: 'include', ...init })
              return response.type === 'opaque' ? 'opaque' : `read ${await response.text()}`
            } catch {
              return 'failed'
            }
          }
          const stream = await new Promise<string>((done) => {
            const source = new EventSource(`${target}/api/events?after=0`, { withCredentials: true })
            source.onmessage = (event) => done(`read ${String(event.data)}`)
            source.onerror = () => done('failed')
          })
          return {
            read: await attempt({}, '/api/projects'),
            health: await attempt({}, '/api/health'),
            events: await attempt({}, '/api/events?after=0'),
            documents: await attempt({}, '/api/documents'),
            write: await attempt({ method: 'POST', body, headers: { 'content-type': 'application/json' } }, '/api/projects'),
            blind: await attempt({ method: 'POST', body, mode: 'no-cors', headers: { 'content-type': 'text/plain' } }, '/api/projects'),
            blindToken: await attempt({ method: 'POST', body: '{"class":"operator"}', mode: 'no-cors' }, '/api/tokens'),
            blindLink: await attempt({ method: 'POST', body: '{}', mode: 'no-cors' }, '/api/login-links'),
            stream,
          }
        },
        [daemon.origin, path] as const,
      )
      expect(Object.values(results).filter((result) => result.startsWith('read'))).toEqual([])

      await attack.evaluate(
        ([target, folder]) => {
          const frame = document.createElement('iframe')
          frame.name = 'sink'
          const form = document.createElement('form')
          form.method = 'post'
          form.action = `${target}/api/projects`
          form.enctype = 'text/plain'
          form.target = 'sink'
          const input = document.createElement('input')
          input.name = `{"path":${JSON.stringify(folder)},"x":"`
          input.value = '"}'
          form.append(input)
          document.body.append(frame, form)
          form.submit()
          const victim = document.createElement('iframe')
          victim.name = 'victim'
          victim.src = target
          document.body.append(victim)
        },
        [daemon.origin, path] as const,
      )
      await expect.poll(() => attack.frame('victim')?.url()).toMatch(/^chrome-error:/)
      await expect.poll(() => attack.frame('sink')?.url()).not.toBe('about:blank')

      expect(await daemon.request('GET', '/api/projects?all=true')).toEqual({ projects: [] })
      const { tokens } = (await daemon.request('GET', '/api/tokens')) as { readonly tokens: readonly { readonly class: string; readonly createdBy: string }[] }
      expect(tokens.filter((token) => token.class === 'operator' && token.createdBy.startsWith('token:'))).toEqual([])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
}

test('a page on another origin cannot answer an approval or change a mode', async ({ page, context, daemon }) => {
  const { request, project } = await agent(daemon, 'victim')
  await login(page, daemon)
  const { body } = await request('fs.writeFile', { path: 'a.txt', content: 'a' }, 0)
  const { actionHash, approvalId } = body as { readonly actionHash: string; readonly approvalId: string }
  const { server, port } = await serve('<!doctype html><title>attack</title><body></body>')
  try {
    for (const host of ['127.0.0.1', 'localhost']) {
      const attack = await context.newPage()
      await attack.goto(`http://${host}:${String(port)}/`)
      const results = await attack.evaluate(
        async ([target, approval, where, hash]) => {
          const yes = JSON.stringify({ decision: 'allow', scope: 'once', actionHash: hash })
          const full = JSON.stringify({ mode: 'full', minutes: 60 })
          const attempt = async (url: string, init: RequestInit): Promise<string> => {
            try {
              const response = await fetch(target + url, { credentials: 'include', ...init })
              return response.type === 'opaque' ? 'opaque' : `read ${String(response.status)}`
            } catch {
              return 'failed'
            }
          }
          const json = { 'content-type': 'application/json' }
          const out = [
            await attempt(`/api/approvals/${approval}`, { method: 'POST', body: yes, headers: json }),
            await attempt(`/api/approvals/${approval}`, { method: 'POST', body: yes, mode: 'no-cors' }),
            await attempt(`/api/projects/${where}/mode`, { method: 'PUT', body: full, headers: json }),
            await attempt(`/api/projects/${where}/mode`, { method: 'POST', body: full, mode: 'no-cors' }),
            await attempt('/api/approvals', {}),
          ]
          const form = document.createElement('form')
          form.method = 'post'
          form.action = `${target}/api/approvals/${approval}`
          form.enctype = 'text/plain'
          form.target = 'sink'
          const input = document.createElement('input')
          input.name = `${yes.slice(0, -1)},"x":"`
          input.value = '"}'
          form.append(input)
          const frame = document.createElement('iframe')
          frame.name = 'sink'
          document.body.append(frame, form)
          form.submit()
          await new Promise((done) => frame.addEventListener('load', done, { once: true }))
          return out
        },
        [daemon.origin, approvalId, project, actionHash] as const,
      )
      expect(results.filter((result) => result.startsWith('read'))).toEqual([])
      await attack.close()
    }
    expect(await daemon.request('GET', `/api/approvals/${approvalId}`)).toMatchObject({ status: 'pending' })
    expect(await daemon.request('GET', `/api/projects/${project}/mode`)).toMatchObject({ mode: 'sandbox' })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
