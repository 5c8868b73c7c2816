/**
 * The position in the event log, and the check that the next event follows it.
 *
 * Sequence numbers have no gaps and each event holds the hash of the previous
 * one, so this is where a lost, repeated or rewritten event is detected.
 */
import type { Event, Hash } from '../../proto/index.ts'

/** The result of checking a batch of events against the cursor. */
export type CursorResult =
  | { readonly kind: 'append'; readonly events: readonly Event[] }
  | { readonly kind: 'broken'; readonly seq: number }

/** The last event that was read. */
export class LogCursor {
  #seq = 0
  #hash: Hash | null = null
  #brokenAt: number | null = null
  #partial = false

  /** The value of `after` that continues here. Opaque: only the daemon interprets it. */
  get after(): string {
    return String(this.#seq)
  }

  /** Whether this login may see only a part of the log. */
  get partial(): boolean {
    return this.#partial
  }

  /** Advances over a batch: drops events that were already read and detects a broken chain. */
  advance(batch: readonly Event[]): CursorResult {
    const events: Event[] = []
    for (const event of batch) {
      if (event.seq <= this.#seq) continue
      if (!this.#partial && !this.#follows(event)) {
        if (this.#brokenAt !== event.seq) {
          this.#brokenAt = event.seq
          return { kind: 'broken', seq: event.seq }
        }
        // The chain breaks at the same event after a full reload: no event was
        // lost, this login may not see the missing ones.
        this.#partial = true
      }
      this.#seq = event.seq
      this.#hash = event.hash
      events.push(event)
    }
    return { kind: 'append', events }
  }

  /** Moves back to before the first event. */
  reset(): void {
    this.#seq = 0
    this.#hash = null
  }

  #follows(event: Event): boolean {
    return event.seq === this.#seq + 1 && (this.#hash === null || event.prev === this.#hash)
  }
}
