/**
 * Light, dark, or what the system says.
 *
 * `public/theme.js` reads the same key before the first paint.
 */
import { MediaQuery } from 'svelte/reactivity'

/** The choice. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'provost.theme'

/** The choice as state, remembered in this browser. */
export class ThemeChoice {
  #theme = $state<Theme>(read())
  readonly #system = new MediaQuery('(prefers-color-scheme: dark)')

  /** What is chosen. */
  get theme(): Theme {
    return this.#theme
  }

  /** Whether that is dark, for what cannot be drawn with the design tokens. */
  get dark(): boolean {
    return this.#theme === 'system' ? this.#system.current : this.#theme === 'dark'
  }

  /** Chooses, and remembers. */
  choose(theme: Theme): void {
    this.#theme = theme
    if (theme === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme
    try {
      localStorage.setItem(KEY, theme)
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
  }

  /** The next one of the three. */
  next(): void {
    this.choose(this.#theme === 'system' ? 'light' : this.#theme === 'light' ? 'dark' : 'system')
  }
}

function read(): Theme {
  const chosen = document.documentElement.dataset['theme']
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}
