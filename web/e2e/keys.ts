/** The modifier key of shortcuts on this system. */
export const MOD_KEY = process.platform === 'darwin' ? 'Meta' : 'Control'
