/** Events that are listed without their body, because it is large. */
import type { Event } from '../../proto/index.ts'

/** Whether an event was sent without its body: its size is in its place. */
export function isTruncated({ body }: Event): boolean {
  return 'omitted' in body
}
