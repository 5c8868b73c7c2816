/**
 * Which streams may stay connected.
 *
 * A browser opens six connections to a host, for all of its tabs together. If streams
 * took them all, no tab could send a request any more. So a stream stays connected only
 * while it holds one of a few slots, which are locks that the tabs share; one without a
 * slot connects, reads what is new, and disconnects again.
 */

/** Holds a slot until it is released. */
export type HeldSlot = { readonly release: () => void }

/** Gives slots to streams. */
export type StreamSlots = {
  /** A free slot, or null. */
  readonly acquire: () => Promise<HeldSlot | null>
}

/** For the streams of visible tabs: those of one tab. */
const VISIBLE = ['provost-stream-1', 'provost-stream-2', 'provost-stream-3']
/** For the tabs out of sight: one of them is told of approvals at once, the others soon. */
const HIDDEN = ['provost-stream-hidden']

/** Without locks, which only pages of a trustworthy origin have, every stream stays connected. */
const UNLIMITED: StreamSlots = { acquire: () => Promise.resolve({ release: () => undefined }) }

/** The slots that all tabs of this browser share. */
export function sharedSlots(locks: LockManager | null | undefined = globalThis.navigator?.locks): StreamSlots {
  if (locks === undefined || locks === null) return UNLIMITED
  return {
    acquire: async () => {
      for (const name of document.hidden ? HIDDEN : VISIBLE) {
        const slot = await tryLock(locks, name)
        if (slot !== null) return slot
      }
      return null
    },
  }
}

/** Takes a lock if it is free. One that cannot be requested counts as taken: the stream then polls. */
function tryLock(locks: LockManager, name: string): Promise<HeldSlot | null> {
  return new Promise((resolve) => {
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock === null) {
          resolve(null)
          return undefined
        }
        // The lock is held until this promise resolves.
        return new Promise<void>((release) => resolve({ release }))
      })
      .catch(() => resolve(null))
  })
}
