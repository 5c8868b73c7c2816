/** How each state of the terminal is called and drawn. */
import { CircleDashed, CircleSlash, CircleStop, Lock, OctagonX, SquareTerminal } from 'lucide'
import type { IconNode } from 'lucide'
import type { TerminalConnectionState } from '../../store/index.ts'

/** A word, a drawing and a color: never the color alone. */
export type Look = {
  readonly word: string
  readonly icon: IconNode
  readonly tone: 'plain' | 'good' | 'warn' | 'bad'
  readonly turning: boolean
}

/** The look of a state. */
export function lookOf(state: TerminalConnectionState): Look {
  switch (state.kind) {
    case 'idle':
      return { word: 'Not connected', icon: CircleDashed, tone: 'plain', turning: false }
    case 'connecting':
      return { word: state.lostSince === null ? 'Connecting' : 'Reconnecting', icon: CircleDashed, tone: 'warn', turning: true }
    case 'live':
      return { word: 'Live', icon: SquareTerminal, tone: 'good', turning: false }
    case 'lost':
      return { word: 'Lost', icon: CircleSlash, tone: 'bad', turning: false }
    case 'ended':
      return { word: 'Ended', icon: CircleStop, tone: 'plain', turning: false }
    case 'refused':
      if (goneAs(state) !== null) return { word: 'Gone', icon: CircleStop, tone: 'plain', turning: false }
      return { word: 'Refused', icon: OctagonX, tone: 'bad', turning: false }
    case 'loggedOut':
      return { word: 'Logged out', icon: Lock, tone: 'bad', turning: false }
  }
}

/** Why there is no terminal any more, where that is so and no fault; null for all else. */
export function goneAs(state: TerminalConnectionState): string | null {
  if (state.kind !== 'refused') return null
  if (state.code === 'PTY_DEAD') return 'none is open in this project'
  return state.code === 'KERNEL_LOST' ? state.reason : null
}

/** How a shell ended. */
export function endedAs(exitCode: number | null, signal: number | null): string {
  if (signal !== null) return `The shell was ended by signal ${String(signal)}.`
  return exitCode === null ? 'The shell has ended.' : `The shell ended with exit code ${String(exitCode)}.`
}
