/** The labels of the modes. */
import { Box, ShieldCheck, Zap } from 'lucide'
import type { IconNode } from 'lucide'
import type { ProjectMode } from '../../proto/index.ts'

/** The name and description of a mode. */
export type ModeLabel = { readonly name: string; readonly description: string; readonly icon: IconNode }

/** The label of each mode. */
export const MODE_LABELS: Readonly<Record<ProjectMode, ModeLabel>> = {
  sandbox: { name: 'Sandbox', description: 'Reads inside the project run. Everything else needs your approval.', icon: Box },
  auto: { name: 'Auto', description: 'Actions inside the sandbox run. Leaving it needs your approval.', icon: ShieldCheck },
  full: {
    name: 'Full',
    description: 'Only hard gates need your approval. Actions are still sandboxed, limited and logged, and the mode ends automatically.',
    icon: Zap,
  },
}

/** All modes, the strictest first. */
export const MODE_ORDER: readonly ProjectMode[] = ['sandbox', 'auto', 'full']
