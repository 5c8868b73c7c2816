// Compares terminal snapshots with xterm.js, the terminal of the browser, as reference.
//
// Reads JSON lines `{name, cols, rows, raw, snapshot, rest}` (bytes in Base64). One
// terminal gets the whole output, another only the snapshot; their screens must be
// equal, also after both got the rest. Prints one line per difference.
import readline from 'node:readline'
import headless from '@xterm/headless'
import unicode from '@xterm/addon-unicode11'

const SCROLLBACK = 2000

/**
 * The bytes of a test case.
 * @param {string} text
 */
const bytes = (text) => Buffer.from(text, 'base64')

/**
 * A terminal that has parsed these bytes.
 * @param {number} cols
 * @param {number} rows
 * @param {Uint8Array[]} pieces
 */
async function drawn(cols, rows, ...pieces) {
  const options = { cols, rows, scrollback: SCROLLBACK, allowProposedApi: true }
  const terminal = new headless.Terminal(options)
  terminal.loadAddon(new unicode.Unicode11Addon())
  terminal.unicode.activeVersion = '11'
  for (const piece of pieces) {
    await new Promise((done) => terminal.write(piece, () => done(undefined)))
  }
  return terminal
}

/**
 * One cell as text with all its visible attributes.
 * @param {import('@xterm/headless').IBufferCell} at
 */
function cell(at) {
  const chars = at.getChars() === '' ? ' ' : at.getChars()
  const blank = chars === ' ' && at.getWidth() === 1
  const flags = [
    at.isBold(), at.isItalic(), at.isDim(), at.isUnderline(), at.isBlink(),
    at.isInverse(), at.isInvisible(), at.isStrikethrough(), at.isOverline(),
  ].map((on) => (on ? 1 : 0)).join('')
  // The foreground of a blank cell is not visible.
  const invisible = blank && !at.isInverse() && !at.isUnderline() && !at.isStrikethrough()
  const fg = invisible ? '' : `${at.getFgColorMode()}/${at.getFgColor()}`
  const style = invisible ? '' : flags
  return `${chars}|${at.getWidth()}|${fg}|${at.getBgColorMode()}/${at.getBgColor()}|${style}`
}

/**
 * @param {import('@xterm/headless').IBuffer} buffer
 * @param {number} cols
 */
function lines(buffer, cols) {
  /** @type {string[][]} */
  const all = []
  for (let y = 0; y < buffer.length; y++) {
    const line = buffer.getLine(y)
    /** @type {string[]} */
    const cells = []
    for (let x = 0; x < cols; x++) {
      const at = line?.getCell(x)
      cells.push(at === undefined ? 'none' : cell(at))
    }
    all.push(cells)
  }
  return all
}

/**
 * The modes, whose members are getters.
 * @param {import('@xterm/headless').IModes} object
 */
function getters(object) {
  /** @type {Record<string, unknown>} */
  const values = {}
  for (const name in object) {
    // Synchronized output is temporary and not visible.
    if (name === 'synchronizedOutputMode') continue
    values[name] = object[/** @type {keyof typeof object} */ (name)]
  }
  return values
}

/**
 * The differences between two terminals.
 * @param {import('@xterm/headless').Terminal} expected
 * @param {import('@xterm/headless').Terminal} found
 */
function differences(expected, found) {
  /** @type {string[]} */
  const list = []
  /** @type {(what: string, a: unknown, b: unknown) => void} */
  const differ = (what, a, b) => {
    if (JSON.stringify(a) !== JSON.stringify(b)) {
      list.push(`${what}: ${JSON.stringify(a)} became ${JSON.stringify(b)}`)
    }
  }
  const [a, b] = [expected.buffer, found.buffer]
  differ('screen', a.active.type, b.active.type)
  differ('cursor', [a.active.cursorX, a.active.cursorY], [b.active.cursorX, b.active.cursorY])
  differ('modes', getters(expected.modes), getters(found.modes))
  for (const name of /** @type {const} */ (['normal', 'alternate'])) {
    if (name === 'alternate' && a.active.type === 'normal') continue
    const [one, two] = [lines(a[name], expected.cols), lines(b[name], expected.cols)]
    differ(`${name} lines`, one.length, two.length)
    for (let y = 0; y < Math.min(one.length, two.length); y++) {
      const [before, after] = [one[y] ?? [], two[y] ?? []]
      const x = before.findIndex((text, at) => text !== after[at])
      if (x >= 0) {
        list.push(`${name} ${y}:${x}: ${before[x]} became ${after[x]}`)
        break
      }
    }
  }
  return list
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { name, cols, rows, raw, snapshot, rest } = JSON.parse(line)
  /** @type {[string, Uint8Array[]][]} */
  const times = [['at once', []], ['going on', [bytes(rest)]]]
  for (const [when, more] of times) {
    const expected = await drawn(cols, rows, bytes(raw), ...more)
    const found = await drawn(cols, rows, bytes(snapshot), ...more)
    for (const text of differences(expected, found)) console.log(`${name}, ${when}: ${text}`)
  }
}
