/** Labels of the terminal connection. */
import { CircleDashed, CircleSlash, CircleStop, Lock, OctagonX, SquareTerminal } from 'lucide'
import type { TerminalConnectionState } from '../../store/index.ts'
import type { StatusLabel } from '../../ui/index.ts'

/** The label of a connection state. */
export function terminalLabel(state: TerminalConnectionState): StatusLabel {
  switch (state.kind) {
    case 'idle':
      return { text: 'Not connected', icon: CircleDashed, tone: 'plain', spinning: false }
    case 'connecting':
      return { text: state.lostSince === null ? 'Connecting' : 'Reconnecting', icon: CircleDashed, tone: 'warn', spinning: true }
    case 'live':
      return { text: 'Live', icon: SquareTerminal, tone: 'good', spinning: false }
    case 'lost':
      return { text: 'Disconnected', icon: CircleSlash, tone: 'bad', spinning: false }
    case 'ended':
      return { text: 'Exited', icon: CircleStop, tone: 'plain', spinning: false }
    case 'refused':
      if (missingTerminalReason(state) !== null) return { text: 'Closed', icon: CircleStop, tone: 'plain', spinning: false }
      return { text: 'Refused', icon: OctagonX, tone: 'bad', spinning: false }
    case 'loggedOut':
      return { text: 'Logged out', icon: Lock, tone: 'bad', spinning: false }
  }
}

/** Why the terminal no longer exists, if that is not an error; null otherwise. */
export function missingTerminalReason(state: TerminalConnectionState): string | null {
  if (state.kind !== 'refused') return null
  if (state.code === 'PTY_DEAD') return 'no terminal is open in this project'
  return state.code === 'KERNEL_LOST' ? state.reason : null
}

/** How a shell ended. */
export function describeShellExit(exitCode: number | null, signal: number | null): string {
  if (signal !== null) return `The shell was terminated by signal ${String(signal)}.`
  return exitCode === null ? 'The shell has ended.' : `The shell ended with exit code ${String(exitCode)}.`
}
