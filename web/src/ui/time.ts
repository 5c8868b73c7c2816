/** Times and numbers as text, in the reader's own zone and language. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const NUMBER = new Intl.NumberFormat()

/** The time of day of an event, to the millisecond. `at` is in microseconds. */
export function clock(at: number): string {
  const ms = Math.floor(at / 1000)
  return `${CLOCK.format(ms)}.${String(ms % 1000).padStart(3, '0')}`
}

/** The day of an event. */
export function day(at: number): string {
  return DAY.format(Math.floor(at / 1000))
}

/** The exact time of an event, in UTC to the microsecond. */
export function exact(at: number): string {
  const iso = new Date(Math.floor(at / 1000)).toISOString()
  return `${iso.slice(0, -1)}${String(at % 1000).padStart(3, '0')}Z`
}

/** How long something takes or took, roughly. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${String(seconds)} s`
  if (seconds < 3600) return `${String(Math.floor(seconds / 60))} min`
  if (seconds < 86_400) return `${String(Math.floor(seconds / 3600))} h`
  return `${String(Math.floor(seconds / 86_400))} d`
}

/** A count, with the reader's separators. */
export function count(value: number): string {
  return NUMBER.format(value)
}
