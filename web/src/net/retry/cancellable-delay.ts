/** A wait that ends by itself, or when someone ends it. */
export class Nap {
  #wake: (() => void) | null = null

  /** Waits. */
  async take(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = null
  }

  /** Ends the wait, if there is one. */
  wake(): void {
    this.#wake?.()
  }
}
