/** Formats times and numbers in the user's time zone and locale. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const NUMBER = new Intl.NumberFormat()

/** The time of day of an event, to the millisecond. `at` is in microseconds. */
export function formatTime(at: number): string {
  const ms = Math.floor(at / 1000)
  return `${CLOCK.format(ms)}.${String(ms % 1000).padStart(3, '0')}`
}

/** The day of an event. */
export function formatDay(at: number): string {
  return DAY.format(Math.floor(at / 1000))
}

/** The exact time of an event, in UTC to the microsecond. */
export function formatTimestamp(at: number): string {
  const iso = new Date(Math.floor(at / 1000)).toISOString()
  return `${iso.slice(0, -1)}${String(at % 1000).padStart(3, '0')}Z`
}

/** A duration in its largest unit. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${String(seconds)} s`
  if (seconds < 3600) return `${String(Math.floor(seconds / 60))} min`
  if (seconds < 86_400) return `${String(Math.floor(seconds / 3600))} h`
  return `${String(Math.floor(seconds / 86_400))} d`
}

/** A countdown to the second: `14:32`, `1:02:03`. */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (value: number): string => String(value).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${String(minutes)}:${two(seconds % 60)}`
  return `${String(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}`
}

/** A number with separators. */
export function formatCount(value: number): string {
  return NUMBER.format(value)
}

/** An amount in nano-dollars, as dollars. */
export function formatDollars(nanos: number): string {
  const amount = nanos / 1e9
  return `$${amount >= 10 ? amount.toFixed(2) : amount.toFixed(4)}`
}
