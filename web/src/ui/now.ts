/** The present time, as something that can be drawn; ticks only while it is. */
import { createSubscriber } from 'svelte/reactivity'

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, 500)
  return () => clearInterval(timer)
})

/** Milliseconds of the browser's clock; drawing it again twice a second. */
export function now(): number {
  subscribe()
  return Date.now()
}
