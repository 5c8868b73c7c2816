/**
 * Notifications of the browser, for when the page is out of sight.
 *
 * They never contain text of an agent: the system draws them, so it could not be
 * made safe.
 */

/** Whether the browser shows notifications of this page. */
export type NotificationSetting = 'unsupported' | 'default' | 'granted' | 'denied'

/** See the head of this file. */
export class BrowserNotifications {
  #permission = $state<NotificationSetting>(typeof Notification === 'undefined' ? 'unsupported' : Notification.permission)

  /** Whether the browser shows notifications. */
  get permission(): NotificationSetting {
    return this.#permission
  }

  /** Requests the permission. Call only on a click. */
  async requestPermission(): Promise<void> {
    if (this.#permission === 'default') this.#permission = await Notification.requestPermission()
  }

  /** Shows a notification, if that is permitted and the page does not have the focus. */
  notify(tag: string, title: string, body: string, onclick: () => void): void {
    if (this.#permission !== 'granted' || (document.visibilityState === 'visible' && document.hasFocus())) return
    const notification = new Notification(title, { body, tag, icon: '/icon.svg' })
    notification.onclick = () => {
      window.focus()
      notification.close()
      onclick()
    }
  }
}
