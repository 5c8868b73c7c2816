/** A delay that ends after its time, or earlier when it is cancelled. */
export class CancellableDelay {
  #cancel: (() => void) | null = null

  /** Resolves after `ms` milliseconds, or when `cancel` is called. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#cancel = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#cancel = null
  }

  /** Ends the current delay, if there is one. */
  cancel(): void {
    this.#cancel?.()
  }
}
