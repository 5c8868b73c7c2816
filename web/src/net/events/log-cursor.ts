/**
 * Where we are in the log, and whether what comes next really comes next.
 *
 * The log has no holes and each event names the hash of the one before, so a
 * lost, repeated or rewritten event is seen here and nowhere else.
 */
import type { Event, Hash } from '../../proto/index.ts'

/** What a batch of events means for someone who has read up to the cursor. */
export type Step =
  | { readonly kind: 'append'; readonly events: readonly Event[] }
  | { readonly kind: 'broken'; readonly seq: number }

/** The last event that was read. */
export class Cursor {
  #seq = 0
  #hash: Hash | null = null
  #brokenAt: number | null = null
  #partial = false

  /** The place of the last event read; 0 before the first. */
  get seq(): number {
    return this.#seq
  }

  /** Whether this login is shown only a part of the log. */
  get partial(): boolean {
    return this.#partial
  }

  /** Takes a batch: drops what was already read, and finds a break in the chain. */
  take(batch: readonly Event[]): Step {
    const events: Event[] = []
    for (const event of batch) {
      if (event.seq <= this.#seq) continue
      if (!this.#partial && !this.#follows(event)) {
        if (this.#brokenAt !== event.seq) {
          this.#brokenAt = event.seq
          return { kind: 'broken', seq: event.seq }
        }
        // Read again from the start and broken at the same place: it is not
        // that we missed something, it is all that we are allowed to see.
        this.#partial = true
      }
      this.#seq = event.seq
      this.#hash = event.hash
      events.push(event)
    }
    return { kind: 'append', events }
  }

  /** Begins again before the first event. */
  reset(): void {
    this.#seq = 0
    this.#hash = null
  }

  #follows(event: Event): boolean {
    return event.seq === this.#seq + 1 && (this.#hash === null || event.prev === this.#hash)
  }
}
