/** Printed text as it looks on a terminal without cursor movement: what follows a carriage return overwrites. Pure. */

/** Lines beyond this are folded: the last ones are what people look for. */
export const SHOWN_LINES = 500

/** The lines of a text, with carriage returns and backspaces carried out. */
export function terminalLines(text: string): readonly string[] {
  const lines = text.replace(/\r+\n/g, '\n').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(overwriteLine)
}

/** Sequences that have no width. */
const SEQUENCE = /\x1b\[[0-?]*[ -/]*[@-~]/g

function overwriteLine(line: string): string {
  if (!line.includes('\r') && !line.includes('\b')) return line
  let shown = ''
  for (const part of line.split('\r')) {
    const text = eraseBackspaces(part)
    if (text === '') continue
    const plain = text.replace(SEQUENCE, '')
    // What is longer than the new text stays behind it.
    const rest = [...shown.replace(SEQUENCE, '')].slice([...plain].length).join('')
    shown = /\x1b\[[02]?K/.test(text) ? text.replace(/\x1b\[[02]?K/g, '') : text + rest
  }
  return shown
}

function eraseBackspaces(text: string): string {
  while (/[^\x08]\x08/.test(text)) text = text.replace(/[^\x08]\x08/g, '')
  return text.replaceAll('\b', '')
}
