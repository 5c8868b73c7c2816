/** The WebAssembly module, compiled once, with an instance for each store. */
import type { ClientReply } from './types.ts'

type Exports = {
  readonly memory: WebAssembly.Memory
  readonly reserve: (bytes: number) => number
  readonly call: () => number
  readonly address: () => number
  readonly hash: () => number
}

let compiled: Promise<WebAssembly.Module> | null = null

/** Loads and compiles the module. A failure is not kept: the next call tries again. */
export function loadModule(url: URL | string = new URL('../wasm/notebook.wasm', import.meta.url)): Promise<WebAssembly.Module> {
  compiled ??= WebAssembly.compileStreaming(fetch(url)).catch((error: unknown) => {
    compiled = null
    throw error
  })
  return compiled
}

/** One instance: the documents of one notebook are in its memory. */
export class ModuleInstance {
  readonly #exports: Exports
  readonly #encoder = new TextEncoder()
  readonly #decoder = new TextDecoder()

  private constructor(exports: Exports) {
    this.#exports = exports
  }

  static async create(module: WebAssembly.Module): Promise<ModuleInstance> {
    const instance = await WebAssembly.instantiate(module)
    return new ModuleInstance(instance.exports as unknown as Exports)
  }

  /** Carries out a request. */
  call(request: unknown): ClientReply {
    return this.#send(JSON.stringify({ now: Math.floor(performance.now()), request }))
  }

  /** Takes a message of the daemon as it arrived, without parsing it here. */
  receive(message: string): ClientReply {
    return this.#send(`{"now":${String(Math.floor(performance.now()))},"request":{"receive":${message}}}`)
  }

  /** The BLAKE3 hash of bytes, as hexadecimal digits. */
  hash(bytes: Uint8Array): string {
    this.#write(bytes)
    return this.#decoder.decode(this.#read(this.#exports.hash()))
  }

  #send(request: string): ClientReply {
    this.#write(this.#encoder.encode(request))
    return JSON.parse(this.#decoder.decode(this.#read(this.#exports.call()))) as ClientReply
  }

  #write(bytes: Uint8Array): void {
    const { memory, reserve } = this.#exports
    const address = reserve(bytes.length) >>> 0
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes)
  }

  #read(length: number): Uint8Array {
    const { memory, address } = this.#exports
    return new Uint8Array(memory.buffer, address() >>> 0, length >>> 0)
  }
}
