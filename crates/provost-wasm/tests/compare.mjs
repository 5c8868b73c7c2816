// Replays requests in a module and compares its replies with the native ones.
// node compare.mjs MODULE REPLIES: a request and its reply are two lines of the second file.
import { readFileSync } from 'node:fs'

const [module, replies] = process.argv.slice(2)
const compiled = await WebAssembly.compile(readFileSync(module))
// A dependency of the core declares functions of a page; what is compared calls none.
const imports = {}
for (const { module: from, name } of WebAssembly.Module.imports(compiled)) {
  imports[from] ??= {}
  imports[from][name] = () => {
    throw new Error(`${from}.${name} was called`)
  }
}
const { exports } = await WebAssembly.instantiate(compiled, imports)
const { memory, reserve, call, address } = exports

function send(request) {
  const bytes = new TextEncoder().encode(request)
  // First: the memory may grow, and have another buffer then.
  const start = reserve(bytes.length) >>> 0
  new Uint8Array(memory.buffer, start, bytes.length).set(bytes)
  const length = call() >>> 0
  return new TextDecoder().decode(new Uint8Array(memory.buffer, address() >>> 0, length))
}

const lines = readFileSync(replies, 'utf8').split('\n').slice(0, -1)
if (lines.length === 0 || lines.length % 2 !== 0) throw new Error(`${replies} has ${lines.length} lines`)
const hashes = new Set()
for (let index = 0; index < lines.length; index += 2) {
  const reply = send(lines[index])
  const expected = lines[index + 1]
  if (reply !== expected) {
    throw new Error(`request ${index / 2 + 1} differs\n  ${lines[index].slice(0, 500)}\nnative\n  ${expected.slice(0, 2000)}\nWebAssembly\n  ${reply.slice(0, 2000)}`)
  }
  const { hash } = JSON.parse(reply)
  if (hash !== undefined) hashes.add(hash)
}
if (hashes.size < 100) throw new Error(`only ${hashes.size} different states were compared`)
console.log(`${lines.length / 2} replies and ${hashes.size} hashes of states are the same natively and in WebAssembly`)
