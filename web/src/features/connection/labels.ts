/** The labels of the connection states. */
import { CircleDashed, CircleSlash, Lock, Radio } from 'lucide'
import type { ConnectionState } from '../../store/index.ts'
import type { StatusLabel } from '../../ui/index.ts'

/** The label of a state. */
export function connectionLabel(connection: ConnectionState): StatusLabel {
  switch (connection.kind) {
    case 'connecting':
      return {
        text: connection.lostSince === null ? 'Connecting' : 'Reconnecting',
        icon: CircleDashed,
        tone: 'warn',
        spinning: true,
      }
    case 'live':
      return { text: 'Live', icon: Radio, tone: 'good', spinning: false }
    case 'lost':
      return { text: 'Disconnected', icon: CircleSlash, tone: 'bad', spinning: false }
    case 'loggedOut':
      return { text: 'Logged out', icon: Lock, tone: 'bad', spinning: false }
  }
}
