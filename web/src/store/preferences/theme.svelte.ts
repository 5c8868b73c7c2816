/**
 * The theme: light, dark, or that of the system.
 *
 * `public/theme.js` reads the same storage key before the first paint.
 */
import { MediaQuery } from 'svelte/reactivity'

/** The chosen theme. */
export type Theme = 'system' | 'light' | 'dark'

const STORAGE_KEY = 'provost.theme'

/** The chosen theme as state, stored in this browser. */
export class ThemePreference {
  #theme = $state<Theme>(appliedTheme())
  readonly #system = new MediaQuery('(prefers-color-scheme: dark)')

  /** The chosen theme. */
  get theme(): Theme {
    return this.#theme
  }

  /** Whether the page is dark, for drawings that cannot use the design tokens. */
  get dark(): boolean {
    return this.#theme === 'system' ? this.#system.current : this.#theme === 'dark'
  }

  /** Applies and stores a theme. */
  choose(theme: Theme): void {
    this.#theme = theme
    if (theme === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme
    try {
      localStorage.setItem(STORAGE_KEY, theme)
    } catch {
      // Storage is forbidden; the choice lasts as long as the page.
    }
  }

  /** Switches to the next theme. */
  next(): void {
    this.choose(this.#theme === 'system' ? 'light' : this.#theme === 'light' ? 'dark' : 'system')
  }
}

function appliedTheme(): Theme {
  const theme = document.documentElement.dataset['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}
