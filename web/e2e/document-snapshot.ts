/** The documents that a new client gets: what the log says now, folded by the daemon. */
import type { Daemon } from './daemon.ts'

/** A document of the snapshot. */
type SnapshotDocument = { readonly view: string; readonly key: string; readonly document: Readonly<Record<string, unknown>> }

/** Connects without a cursor, and returns the snapshot. */
export async function readSnapshot(daemon: Daemon): Promise<readonly SnapshotDocument[]> {
  const ended = new AbortController()
  const response = await fetch(`${daemon.origin}/api/documents`, {
    headers: { authorization: `Bearer ${await daemon.token()}`, accept: 'text/event-stream' },
    signal: ended.signal,
  })
  if (!response.ok || response.body === null) throw new Error(`/api/documents: ${String(response.status)} ${await response.text()}`)
  let text = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (/^event: live$/m.test(text)) break
  }
  ended.abort()
  const messages = text.split('\n\n').filter((message) => /^event: snapshot$/m.test(message))
  return messages.flatMap((message) => {
    const data = /^data: (.*)$/m.exec(message)?.[1] ?? '{}'
    return (JSON.parse(data) as { readonly documents: readonly SnapshotDocument[] }).documents
  })
}

/** The documents of one view. */
export function documentsOf(snapshot: readonly SnapshotDocument[], view: string): readonly Readonly<Record<string, unknown>>[] {
  return snapshot.filter((change) => change.view === view).map(({ document }) => document)
}
