/** A clock for leases. Timers of a hidden page run once a minute, later than a lease lasts; those of a worker run on time. */
const TICK_MS = 5_000

/** Calls a function every few seconds until the returned one is called. */
export function startTicking(tick: () => void): () => void {
  const worker = new Worker(new URL('./tick-worker.js', import.meta.url), { type: 'module' })
  worker.onmessage = tick
  // Without workers, a page that is visible still keeps its lease.
  let timer: ReturnType<typeof setInterval> | null = null
  worker.onerror = () => (timer ??= setInterval(tick, TICK_MS))
  worker.postMessage(TICK_MS)
  return () => {
    worker.terminate()
    if (timer !== null) clearInterval(timer)
  }
}
