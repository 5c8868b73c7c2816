/**
 * Draws a terminal with xterm.js.
 *
 * Everything is drawn in stream order: a resize waits until all earlier output is
 * parsed. The display has the size of the terminal, which may differ from the size
 * of its window.
 */
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { WebglAddon } from '@xterm/addon-webgl'
import { Terminal } from '@xterm/xterm'
import type { TerminalSize } from '../../proto/index.ts'
import type { TerminalDisplay } from '../../store/index.ts'
import { terminalTheme } from './colors.ts'
import { suppressReplies } from './suppress-replies.ts'

/** What the display reports to its pane. */
export type DisplayEvents = {
  /** Keyboard input, a paste or a mouse report. */
  readonly input: (keys: string | Uint8Array) => void
  /** The size that fits the window has changed. */
  readonly resized: (size: TerminalSize) => void
  /** The pointer is over a link, or over none. */
  readonly linkHovered: (url: string | null) => void
  readonly selected: (text: string) => void
  /** Handles a key; true if it was a shortcut of the pane. */
  readonly key: (event: KeyboardEvent) => boolean
}

type Step =
  | { readonly kind: 'write'; readonly bytes: Uint8Array; readonly parsed: () => void }
  | { readonly kind: 'resize'; readonly size: TerminalSize }

/** The lines of the kernel's snapshot, and some more. */
const SCROLLBACK = 5_000
/** The largest size that the kernel accepts. */
const [MAX_COLS, MAX_ROWS] = [1_000, 500]
const SCREEN_READER_KEY = 'provost.terminal.reader'
/** Full reset, written together with the snapshot so that no blank screen appears in between. */
const RESET = new Uint8Array([0x1b, 0x63])

/** See the head of this file. */
export class XtermDisplay implements TerminalDisplay {
  readonly terminal: Terminal
  readonly search = new SearchAddon()
  readonly #fit = new FitAddon()
  readonly #events: DisplayEvents
  #steps: Step[] = []
  #writing = 0

  constructor(events: DisplayEvents, dark: boolean) {
    this.#events = events
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      fontSize: 13,
      lineHeight: 1.15,
      macOptionIsMeta: true,
      minimumContrastRatio: 4.5,
      screenReaderMode: storedScreenReaderMode(),
      scrollback: SCROLLBACK,
      theme: terminalTheme(dark),
      linkHandler: {
        activate: (event, url) => openLink(event, url),
        hover: (_, url) => events.linkHovered(url),
        leave: () => events.linkHovered(null),
      },
    })
  }

  /** Starts to draw in an element. Returns a function that ends it. */
  open(element: HTMLElement): () => void {
    const { terminal } = this
    terminal.loadAddon(this.#fit)
    terminal.loadAddon(this.search)
    terminal.loadAddon(new Unicode11Addon())
    terminal.unicode.activeVersion = '11'
    const hover = { hover: (_: MouseEvent, url: string) => this.#events.linkHovered(url), leave: () => this.#events.linkHovered(null) }
    terminal.loadAddon(new WebLinksAddon(openLink, hover))
    suppressReplies(terminal.parser)
    terminal.open(element)
    useWebgl(terminal)
    terminal.textarea?.setAttribute('aria-label', 'Terminal')
    terminal.attachCustomKeyEventHandler((event) => !this.#events.key(event))
    terminal.onData((keys) => this.#events.input(keys))
    terminal.onBinary((keys) => this.#events.input(Uint8Array.from(keys, (key) => key.charCodeAt(0))))
    terminal.onSelectionChange(() => this.#events.selected(terminal.getSelection()))
    const watch = new ResizeObserver(() => this.#events.resized(this.size()))
    watch.observe(element)
    return () => {
      watch.disconnect()
      terminal.dispose()
    }
  }

  /** Whether the content is also available to screen readers. It costs speed, so it is optional. */
  get screenReaderMode(): boolean {
    return this.terminal.options.screenReaderMode === true
  }

  /** Sets and stores the screen reader mode. */
  setScreenReaderMode(on: boolean): void {
    this.terminal.options.screenReaderMode = on
    try {
      localStorage.setItem(SCREEN_READER_KEY, on ? 'on' : 'off')
    } catch {
      // Storage is forbidden; the choice lasts as long as the pane.
    }
  }

  /** Applies the light or dark theme. */
  setDark(dark: boolean): void {
    this.terminal.options.theme = terminalTheme(dark)
  }

  size(): TerminalSize {
    const { cols, rows } = this.#fit.proposeDimensions() ?? { cols: 80, rows: 24 }
    const within = (value: number, most: number): number => (Number.isFinite(value) ? Math.min(most, Math.max(2, value)) : 24)
    return { cols: within(cols, MAX_COLS), rows: within(rows, MAX_ROWS) }
  }

  snapshot(size: TerminalSize, bytes: Uint8Array, parsed: () => void): void {
    const whole = new Uint8Array(RESET.length + bytes.length)
    whole.set(RESET)
    whole.set(bytes, RESET.length)
    this.#steps.push({ kind: 'resize', size }, { kind: 'write', bytes: whole, parsed })
    this.#processSteps()
  }

  output(bytes: Uint8Array, parsed: () => void): void {
    this.#steps.push({ kind: 'write', bytes, parsed })
    this.#processSteps()
  }

  resize(size: TerminalSize): void {
    this.#steps.push({ kind: 'resize', size })
    this.#processSteps()
  }

  title(): void {
    // The pane shows it.
  }

  bell(): void {
    // The pane shows it.
  }

  #processSteps(): void {
    while (this.#steps[0] !== undefined) {
      if (this.#steps[0].kind === 'resize' && this.#writing > 0) return
      // Remove the step first: a short write is parsed synchronously and calls back at once.
      const step = this.#steps.shift()
      if (step?.kind === 'resize') this.#applySize(step.size)
      else if (step?.kind === 'write') this.#write(step.bytes, step.parsed)
    }
  }

  #applySize({ cols, rows }: TerminalSize): void {
    if (cols !== this.terminal.cols || rows !== this.terminal.rows) this.terminal.resize(cols, rows)
  }

  #write(bytes: Uint8Array, parsed: () => void): void {
    this.#writing++
    this.terminal.write(bytes, () => {
      this.#writing--
      parsed()
      this.#processSteps()
    })
  }
}

function storedScreenReaderMode(): boolean {
  try {
    return localStorage.getItem(SCREEN_READER_KEY) === 'on'
  } catch {
    return false
  }
}

/** Uses WebGL if available; otherwise, and when its context is lost, DOM elements. */
function useWebgl(terminal: Terminal): void {
  try {
    const webgl = new WebglAddon()
    webgl.onContextLoss(() => webgl.dispose())
    terminal.loadAddon(webgl)
  } catch {
    // DOM rendering still works, only slower.
  }
}

/** Opens a link only with Ctrl or Cmd: its text may differ from its target. */
function openLink(event: MouseEvent, url: string): void {
  if (!event.ctrlKey && !event.metaKey) return
  if (/^https?:\/\//i.test(url)) window.open(url, '_blank', 'noopener,noreferrer')
}
