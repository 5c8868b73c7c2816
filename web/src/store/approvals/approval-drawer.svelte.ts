/**
 * The drawer in which questions are answered: whether it is open, which
 * question lies on top, and whether it has lain there long enough to be answered.
 */
import type { Approval, ApprovalId } from '../../proto/index.ts'

/**
 * How long a question must be on top before an answer counts: a key or a
 * press that was meant for what was there before must not answer it.
 */
export const SETTLE_MS = 500

/** See the head of this file. */
export class Desk {
  #open = $state(false)
  #settled = $state(false)
  #selected = $state<ApprovalId | null>(null)
  readonly #mirror: (id: ApprovalId | null) => void
  readonly #known = new Set<ApprovalId>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `mirror` writes the question on top into the address, so that it can be linked. */
  constructor(mirror: (id: ApprovalId | null) => void) {
    this.#mirror = mirror
  }

  /** Whether the drawer is open. */
  get open(): boolean {
    return this.#open
  }

  /** Whether what is on top may be answered. */
  get settled(): boolean {
    return this.#settled
  }

  /** The question on top. */
  get selected(): ApprovalId | null {
    return this.#selected
  }

  /** Opens the drawer at a question, or at the first of these. */
  show(pending: readonly Approval[], id: ApprovalId | null = null): void {
    const top = id ?? this.#selected ?? pending[0]?.id ?? null
    if (!this.#open || top !== this.#selected) this.unsettle()
    this.#open = true
    this.#put(top)
  }

  /** Closes the drawer. It opens again when something new asks. */
  close(): void {
    this.#open = false
    this.#put(null)
  }

  /** Puts another question on top. */
  select(id: ApprovalId | null): void {
    if (id !== this.#selected) this.unsettle()
    this.#put(id)
  }

  /** The address was changed by other means: what is on top stays, and is written there again. */
  remind(): void {
    if (this.#open) this.#mirror(this.#selected)
  }

  #put(id: ApprovalId | null): void {
    this.#selected = id
    this.#mirror(id)
  }

  /** Goes to the next or the one before, in this order. */
  move(order: readonly Approval[], by: 1 | -1): void {
    const to = neighbor(order, this.#selected, by)
    if (to !== null) this.select(to)
  }

  /**
   * What waits has changed: opens for what was not known, and keeps something on top. While someone
   * talks with a model it opens for nothing: what that asks is answered there, and the rest is told there.
   */
  notice(pending: readonly Approval[], talking: 'talking' | 'elsewhere' = 'elsewhere'): readonly Approval[] {
    const fresh = pending.filter(({ id }) => !this.#known.has(id))
    for (const { id } of fresh) this.#known.add(id)
    if (fresh.length > 0 && !this.#open && talking === 'elsewhere') this.show(pending)
    else if (this.#open && this.#selected === null && pending.length > 0) this.select(pending[0]?.id ?? null)
    return fresh
  }

  /** Makes answers wait again. */
  unsettle(): void {
    clearTimeout(this.#timer)
    this.#settled = false
    this.#timer = setTimeout(() => (this.#settled = true), SETTLE_MS)
  }
}

/** The neighbor of a question in an order; the ends do not wrap, so that a held key stops. */
export function neighbor(order: readonly Approval[], id: ApprovalId | null, by: 1 | -1): ApprovalId | null {
  if (order.length === 0) return null
  const at = order.findIndex((approval) => approval.id === id)
  if (at < 0) return order[0]?.id ?? null
  return order[Math.min(order.length - 1, Math.max(0, at + by))]?.id ?? null
}
