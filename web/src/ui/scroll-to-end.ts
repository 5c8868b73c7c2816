/** Scrolling to the end of an element. */
import type { Attachment } from 'svelte/attachments'

/** Scrolls an element to its end, and again when `content` changes. */
export function scrollToEnd(content: unknown): Attachment<HTMLElement> {
  void content
  return (element) => {
    element.scrollTop = element.scrollHeight
  }
}
