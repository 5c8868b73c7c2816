/** The key that opens menus of the page on this system. */
export const MOD_KEY = process.platform === 'darwin' ? 'Meta' : 'Control'
