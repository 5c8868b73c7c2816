/** Building the request from the form. */
import { expect, it } from 'vitest'
import { buildExplainRequest, EXAMPLES, type ExplainFormValues } from './explain-request.ts'

const draft = (more: Partial<ExplainFormValues>): ExplainFormValues => ({ action: 'terminal.runCommand', text: 'ls -la', role: '', mode: '', ...more })

it('takes a command as entered', () => {
  expect(buildExplainRequest(draft({ text: ' ls  -la ' }))).toEqual({ request: { action: 'terminal.runCommand', params: { command: ' ls  -la ' } } })
})

it('adds the chosen role and mode', () => {
  expect(buildExplainRequest(draft({ role: ' backend ', mode: 'auto' }))).toEqual({ request: { action: 'terminal.runCommand', params: { command: 'ls -la' }, role: 'backend', mode: 'auto' } })
})

it('parses parameters as JSON, also for commands', () => {
  expect(buildExplainRequest(draft({ action: 'fs.readFile', text: '{"path":".env"}' }))).toEqual({ request: { action: 'fs.readFile', params: { path: '.env' } } })
  expect(buildExplainRequest(draft({ text: '{"argv":["ls"]}' }))).toEqual({ request: { action: 'terminal.runCommand', params: { argv: ['ls'] } } })
})

it.each([
  ['', 'terminal.runCommand'],
  ['nonsense', 'fs.readFile'],
  ['[1]', 'fs.readFile'],
  ['null', 'fs.readFile'],
])('reports an error for %j of %s', (text, action) => {
  expect(buildExplainRequest(draft({ action, text }))).toHaveProperty('error')
})

it('has a valid example for every action', () => {
  for (const [action, text] of Object.entries(EXAMPLES)) expect(buildExplainRequest(draft({ action, text })), action).toHaveProperty('request')
})
