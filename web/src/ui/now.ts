/** The current time as reactive state; it ticks only while it is used. */
import { createSubscriber } from 'svelte/reactivity'

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, 500)
  return () => clearInterval(timer)
})

/** Milliseconds of the browser's clock, updated twice a second. */
export function now(): number {
  subscribe()
  return Date.now()
}
