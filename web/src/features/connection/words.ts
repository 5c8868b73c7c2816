/** How each state of the connection is called and drawn. */
import { CircleDashed, CircleSlash, Lock, Radio } from 'lucide'
import type { IconNode } from 'lucide'
import type { ConnectionState } from '../../store/index.ts'

/** A word, a drawing and a colour: never the colour alone. */
export type Look = {
  readonly word: string
  readonly icon: IconNode
  readonly tone: 'good' | 'warn' | 'bad'
  readonly turning: boolean
}

/** The look of a state. */
export function lookOf(connection: ConnectionState): Look {
  switch (connection.kind) {
    case 'connecting':
      return {
        word: connection.lostSince === null ? 'Connecting' : 'Reconnecting',
        icon: CircleDashed,
        tone: 'warn',
        turning: true,
      }
    case 'live':
      return { word: 'Live', icon: Radio, tone: 'good', turning: false }
    case 'lost':
      return { word: 'Lost', icon: CircleSlash, tone: 'bad', turning: false }
    case 'loggedOut':
      return { word: 'Logged out', icon: Lock, tone: 'bad', turning: false }
  }
}
