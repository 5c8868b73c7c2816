/** Where what matters most comes last. */
import type { Attachment } from 'svelte/attachments'

/** Shows the end of what scrolls, also when it becomes something else. */
export function endOf(what: unknown): Attachment<HTMLElement> {
  void what
  return (element) => {
    element.scrollTop = element.scrollHeight
  }
}
