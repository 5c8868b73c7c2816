/**
 * The browser's own notifications, for when the page is out of sight.
 *
 * They never carry what an agent wrote: the system draws them, and we cannot
 * say how.
 */

/** Whether the browser shows notifications of this page. */
export type Permission = 'unsupported' | 'default' | 'granted' | 'denied'

/** See the head of this file. */
export class Alerts {
  #permission = $state<Permission>(typeof Notification === 'undefined' ? 'unsupported' : Notification.permission)

  /** Whether the browser shows them. */
  get permission(): Permission {
    return this.#permission
  }

  /** Asks for the permission. Only ever on a press of a person. */
  async allow(): Promise<void> {
    if (this.#permission === 'default') this.#permission = await Notification.requestPermission()
  }

  /** Says something, if it may and the page is not looked at. */
  say(tag: string, title: string, body: string, onclick: () => void): void {
    if (this.#permission !== 'granted' || (document.visibilityState === 'visible' && document.hasFocus())) return
    const notification = new Notification(title, { body, tag, icon: '/icon.svg' })
    notification.onclick = () => {
      window.focus()
      notification.close()
      onclick()
    }
  }
}
