/**
 * The drawer in which approvals are answered: whether it is open, which approval is
 * selected, and whether that was shown long enough to be answered.
 */
import type { Approval, ApprovalId } from '../../proto/index.ts'

/**
 * How long an approval must be shown before an answer counts, in milliseconds: a key
 * or a click that was meant for what was there before must not answer it.
 */
export const SETTLE_MS = 500

/** See the head of this file. */
export class ApprovalDrawer {
  #open = $state(false)
  #settled = $state(false)
  #selected = $state<ApprovalId | null>(null)
  readonly #writeRoute: (id: ApprovalId | null) => void
  readonly #known = new Set<ApprovalId>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `writeRoute` puts the selected approval into the address, so that it can be linked. */
  constructor(writeRoute: (id: ApprovalId | null) => void) {
    this.#writeRoute = writeRoute
  }

  /** Whether the drawer is open. */
  get open(): boolean {
    return this.#open
  }

  /** Whether the selected approval may be answered. */
  get settled(): boolean {
    return this.#settled
  }

  /** The selected approval. */
  get selected(): ApprovalId | null {
    return this.#selected
  }

  /** Opens the drawer at an approval, or at the first pending one. */
  show(pending: readonly Approval[], id: ApprovalId | null = null): void {
    const selected = id ?? this.#selected ?? pending[0]?.id ?? null
    if (!this.#open || selected !== this.#selected) this.unsettle()
    this.#open = true
    this.#setSelected(selected)
  }

  /** Closes the drawer. A new approval opens it again. */
  close(): void {
    this.#open = false
    this.#setSelected(null)
  }

  /** Selects another approval. */
  select(id: ApprovalId | null): void {
    if (id !== this.#selected) this.unsettle()
    this.#setSelected(id)
  }

  /** Writes the selected approval into the address again, after something else changed it. */
  restoreRoute(): void {
    if (this.#open) this.#writeRoute(this.#selected)
  }

  #setSelected(id: ApprovalId | null): void {
    this.#selected = id
    this.#writeRoute(id)
  }

  /** Selects the next or the previous approval in this order. */
  move(order: readonly Approval[], by: 1 | -1): void {
    const to = neighbor(order, this.#selected, by)
    if (to !== null) this.select(to)
  }

  /**
   * Handles a change of the pending approvals: opens the drawer for new ones and keeps one
   * selected. Returns the new ones. Over a conversation the drawer never opens by itself:
   * its approvals are answered in it, and it shows that others are pending.
   */
  update(pending: readonly Approval[], view: 'conversation' | 'other' = 'other'): readonly Approval[] {
    const fresh = pending.filter(({ id }) => !this.#known.has(id))
    for (const { id } of fresh) this.#known.add(id)
    if (fresh.length > 0 && !this.#open && view === 'other') this.show(pending)
    else if (this.#open && this.#selected === null && pending.length > 0) this.select(pending[0]?.id ?? null)
    return fresh
  }

  /** Restarts the time before an answer counts. */
  unsettle(): void {
    clearTimeout(this.#timer)
    this.#settled = false
    this.#timer = setTimeout(() => (this.#settled = true), SETTLE_MS)
  }
}

/** The neighbor of an approval. The ends do not wrap, so that a held key stops there. */
export function neighbor(order: readonly Approval[], id: ApprovalId | null, by: 1 | -1): ApprovalId | null {
  if (order.length === 0) return null
  const at = order.findIndex((approval) => approval.id === id)
  if (at < 0) return order[0]?.id ?? null
  return order[Math.min(order.length - 1, Math.max(0, at + by))]?.id ?? null
}
