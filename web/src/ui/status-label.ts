/** How a state is shown. */
import type { IconNode } from 'lucide'

/** A text, an icon and a color: never the color alone. */
export type StatusLabel = {
  readonly text: string
  readonly icon: IconNode
  readonly tone: 'plain' | 'good' | 'warn' | 'bad'
  readonly spinning: boolean
}
