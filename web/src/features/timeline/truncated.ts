/** Events that are listed without their body, because it is large. */
import type { Event } from '../../proto/index.ts'

/** Whether an event was sent without its body: a reference is in its place. */
export function isTruncated({ body }: Event): boolean {
  return '$blob' in body
}
