/** The modes, in words. */
import { Box, ShieldCheck, Zap } from 'lucide'
import type { IconNode } from 'lucide'
import type { ProjectMode } from '../../proto/index.ts'

/** What a mode is called, and what it means. */
export type ModeWords = { readonly name: string; readonly means: string; readonly icon: IconNode }

/** The words of each mode. */
export const MODES: Readonly<Record<ProjectMode, ModeWords>> = {
  sandbox: { name: 'Sandbox', means: 'Reading inside the project passes. Everything else asks you.', icon: Box },
  auto: { name: 'Auto', means: 'What stays inside the sandbox runs. Crossing it asks you.', icon: ShieldCheck },
  full: {
    name: 'Full',
    means: 'Nothing asks you but the hard gates. It is still sandboxed, limited and logged, and it ends by itself.',
    icon: Zap,
  },
}

/** All modes, the strictest first. */
export const ORDER: readonly ProjectMode[] = ['sandbox', 'auto', 'full']
