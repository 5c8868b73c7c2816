/**
 * xterm.js as the display of a terminal.
 *
 * What is drawn comes in the order of the stream: a change of the size waits
 * until everything before it is parsed. It has the size that the terminal has,
 * which need not be that of its window.
 */
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { WebglAddon } from '@xterm/addon-webgl'
import { Terminal } from '@xterm/xterm'
import type { TerminalSize } from '../../proto/index.ts'
import type { TerminalDisplay } from '../../store/index.ts'
import { paletteOf } from './palette.ts'
import { silence } from './silence.ts'

/** What a screen tells its pane. */
export type Telling = {
  /** Something was typed, or pasted, or the mouse reported. */
  readonly typed: (keys: string | Uint8Array) => void
  /** The window has another size. */
  readonly fits: (size: TerminalSize) => void
  /** A link is pointed at, or none. */
  readonly points: (url: string | null) => void
  readonly selected: (text: string) => void
  /** A key for the pane; true if it was one. */
  readonly key: (event: KeyboardEvent) => boolean
}

type Step =
  | { readonly kind: 'write'; readonly bytes: Uint8Array; readonly parsed: () => void }
  | { readonly kind: 'resize'; readonly size: TerminalSize }

/** As many lines as the kernel's snapshot has, and some that come later. */
const SCROLLBACK = 5_000
/** As the kernel takes them. */
const [COLS, ROWS] = [1_000, 500]
const READER = 'provost.terminal.reader'
/** Full reset: in the same write as the snapshot, so that nothing blank is seen between. */
const RESET = new Uint8Array([0x1b, 0x63])

/** See the head of this file. */
export class Screen implements TerminalDisplay {
  readonly terminal: Terminal
  readonly search = new SearchAddon()
  readonly #fit = new FitAddon()
  readonly #telling: Telling
  #steps: Step[] = []
  #writing = 0

  constructor(telling: Telling, dark: boolean) {
    this.#telling = telling
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      fontSize: 13,
      lineHeight: 1.15,
      macOptionIsMeta: true,
      minimumContrastRatio: 4.5,
      screenReaderMode: remembered(),
      scrollback: SCROLLBACK,
      theme: paletteOf(dark),
      linkHandler: {
        activate: (event, url) => follow(event, url),
        hover: (_, url) => telling.points(url),
        leave: () => telling.points(null),
      },
    })
  }

  /** Draws in an element; the result ends it. */
  open(element: HTMLElement): () => void {
    const { terminal } = this
    terminal.loadAddon(this.#fit)
    terminal.loadAddon(this.search)
    terminal.loadAddon(new Unicode11Addon())
    terminal.unicode.activeVersion = '11'
    const hover = { hover: (_: MouseEvent, url: string) => this.#telling.points(url), leave: () => this.#telling.points(null) }
    terminal.loadAddon(new WebLinksAddon(follow, hover))
    silence(terminal.parser)
    terminal.open(element)
    faster(terminal)
    terminal.textarea?.setAttribute('aria-label', 'Terminal')
    terminal.attachCustomKeyEventHandler((event) => !this.#telling.key(event))
    terminal.onData((keys) => this.#telling.typed(keys))
    terminal.onBinary((keys) => this.#telling.typed(Uint8Array.from(keys, (key) => key.charCodeAt(0))))
    terminal.onSelectionChange(() => this.#telling.selected(terminal.getSelection()))
    const watch = new ResizeObserver(() => this.#telling.fits(this.size()))
    watch.observe(element)
    return () => {
      watch.disconnect()
      terminal.dispose()
    }
  }

  /** Whether what is drawn is also written for a screen reader. It costs speed, so it is a choice. */
  get reads(): boolean {
    return this.terminal.options.screenReaderMode === true
  }

  /** Chooses that, and remembers. */
  read(on: boolean): void {
    this.terminal.options.screenReaderMode = on
    try {
      localStorage.setItem(READER, on ? 'on' : 'off')
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the pane.
    }
  }

  /** Light or dark. */
  paint(dark: boolean): void {
    this.terminal.options.theme = paletteOf(dark)
  }

  size(): TerminalSize {
    const { cols, rows } = this.#fit.proposeDimensions() ?? { cols: 80, rows: 24 }
    const within = (value: number, most: number): number => (Number.isFinite(value) ? Math.min(most, Math.max(2, value)) : 24)
    return { cols: within(cols, COLS), rows: within(rows, ROWS) }
  }

  snapshot(size: TerminalSize, bytes: Uint8Array, parsed: () => void): void {
    const whole = new Uint8Array(RESET.length + bytes.length)
    whole.set(RESET)
    whole.set(bytes, RESET.length)
    this.#steps.push({ kind: 'resize', size }, { kind: 'write', bytes: whole, parsed })
    this.#go()
  }

  output(bytes: Uint8Array, parsed: () => void): void {
    this.#steps.push({ kind: 'write', bytes, parsed })
    this.#go()
  }

  resize(size: TerminalSize): void {
    this.#steps.push({ kind: 'resize', size })
    this.#go()
  }

  title(): void {
    // The pane shows it.
  }

  bell(): void {
    // The pane shows it.
  }

  #go(): void {
    while (this.#steps[0] !== undefined) {
      if (this.#steps[0].kind === 'resize' && this.#writing > 0) return
      // Taken out first: what follows what was typed is parsed, and told, at once.
      const step = this.#steps.shift()
      if (step?.kind === 'resize') this.#fitTo(step.size)
      else if (step?.kind === 'write') this.#write(step.bytes, step.parsed)
    }
  }

  #fitTo({ cols, rows }: TerminalSize): void {
    if (cols !== this.terminal.cols || rows !== this.terminal.rows) this.terminal.resize(cols, rows)
  }

  #write(bytes: Uint8Array, parsed: () => void): void {
    this.#writing++
    this.terminal.write(bytes, () => {
      this.#writing--
      parsed()
      this.#go()
    })
  }
}

function remembered(): boolean {
  try {
    return localStorage.getItem(READER) === 'on'
  } catch {
    return false
  }
}

/** Draws with WebGL where there is one; without it, and when it is lost, with elements. */
function faster(terminal: Terminal): void {
  try {
    const webgl = new WebglAddon()
    webgl.onContextLoss(() => webgl.dispose())
    terminal.loadAddon(webgl)
  } catch {
    // It draws all the same, only slower.
  }
}

/** Follows a link that was meant: what stands there may not be where it leads. */
function follow(event: MouseEvent, url: string): void {
  if (!event.ctrlKey && !event.metaKey) return
  if (/^https?:\/\//i.test(url)) window.open(url, '_blank', 'noopener,noreferrer')
}
