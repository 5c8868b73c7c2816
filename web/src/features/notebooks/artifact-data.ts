/** The data of a representation: from the log, or from an artifact. */
import type { NotebookStore } from '@provost/runtime-core'
import type { MimeData } from '../../proto/index.ts'

/** Loads data: images as base64, everything else as text or JSON. */
export async function loadData(store: NotebookStore, mime: string, data: MimeData): Promise<unknown> {
  if ('inline' in data) return data.inline
  const blob = await store.getArtifact(data.artifact.hash)
  if (!mime.startsWith('image/') || mime === 'image/svg+xml') return mime.endsWith('json') ? (JSON.parse(await blob.text()) as unknown) : blob.text()
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error('the artifact cannot be read'))
    reader.readAsDataURL(blob)
  })
}
