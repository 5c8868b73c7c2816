/** Stores large images of outputs as artifacts of the notebook. What cannot be stored stays inline. */
import type { MimeBundle, MimeData, NotebookStore } from '@provost/runtime-core'
import { inline, type Representations } from './execution-context.ts'

/** Images of more bytes than this become artifacts. */
const INLINE_BYTES = 6 * 1024
const UPLOAD_TIMEOUT_MS = 30_000
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/

/** See the head of this file. */
export class ArtifactUploader {
  readonly #store: NotebookStore

  constructor(store: NotebookStore) {
    this.#store = store
  }

  hasLarge(data: Representations): boolean {
    return Object.entries(data).some(([mime, value]) => isLarge(mime, value))
  }

  /** The representations, with artifacts in the place of large images. */
  async upload(data: Representations): Promise<MimeBundle> {
    const bundle = inline(data)
    for (const [mime, value] of Object.entries(data)) {
      const stored = isLarge(mime, value) ? await this.#storeImage(mime, value) : null
      if (stored !== null) bundle[mime] = stored
    }
    return bundle
  }

  async #storeImage(mime: string, base64: string): Promise<MimeData | null> {
    try {
      const bytes = Uint8Array.from(atob(base64.replaceAll('\n', '')), (letter) => letter.charCodeAt(0))
      const hash = this.#store.hashBytes(bytes)
      await this.#store.putArtifact(hash, mime, bytes, AbortSignal.timeout(UPLOAD_TIMEOUT_MS))
      return { artifact: { hash, size: bytes.length } }
    } catch {
      // Shown from the log instead.
      return null
    }
  }
}

function isLarge(mime: string, value: unknown): value is string {
  return IMAGE.test(mime) && typeof value === 'string' && value.length * 0.75 > INLINE_BYTES
}
