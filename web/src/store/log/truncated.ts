/** Events whose body is stored as a blob: the log holds only a reference to it. */
import type { BlobRef, Event } from '../../proto/index.ts'
import { sendRequest } from '../../net/index.ts'

/** Whether the body of an event is stored as a blob. */
export function isTruncated(event: Event): boolean {
  return '$blob' in event.body
}

/** Fetches the body of a truncated event; null if that fails. */
export async function hydrateEvent<E extends Event>(event: E): Promise<E | null> {
  const { $blob: hash } = event.body as unknown as BlobRef
  const result = await sendRequest<Event['body']>({ method: 'GET', path: `/api/blobs/${encodeURIComponent(hash)}` })
  return result.kind === 'ok' ? ({ ...event, body: result.value } as E) : null
}
