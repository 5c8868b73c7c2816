/** From what is typed to the question to the rules. */
import { expect, it } from 'vitest'
import { ACTIONS, explainOf, type Draft } from './explain.ts'

const draft = (more: Partial<Draft>): Draft => ({ action: 'terminal.runCommand', text: 'ls -la', role: '', mode: '', ...more })

it('takes a command as it is typed', () => {
  expect(explainOf(draft({ text: ' ls  -la ' }))).toEqual({ ask: { action: 'terminal.runCommand', params: { command: ' ls  -la ' } } })
})

it('adds the role and the mode that were chosen', () => {
  expect(explainOf(draft({ role: ' backend ', mode: 'auto' }))).toEqual({ ask: { action: 'terminal.runCommand', params: { command: 'ls -la' }, role: 'backend', mode: 'auto' } })
})

it('reads parameters as JSON, of commands too', () => {
  expect(explainOf(draft({ action: 'fs.readFile', text: '{"path":".env"}' }))).toEqual({ ask: { action: 'fs.readFile', params: { path: '.env' } } })
  expect(explainOf(draft({ text: '{"argv":["ls"]}' }))).toEqual({ ask: { action: 'terminal.runCommand', params: { argv: ['ls'] } } })
})

it.each([
  ['', 'terminal.runCommand'],
  ['nonsense', 'fs.readFile'],
  ['[1]', 'fs.readFile'],
  ['null', 'fs.readFile'],
])('says what is wrong with %j for %s', (text, action) => {
  expect(explainOf(draft({ action, text }))).toHaveProperty('wrong')
})

it('has a good example for every action', () => {
  for (const [action, text] of Object.entries(ACTIONS)) expect(explainOf(draft({ action, text })), action).toHaveProperty('ask')
})
