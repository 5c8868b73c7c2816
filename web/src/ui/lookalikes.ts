/**
 * Characters that look like others, where a text is otherwise ASCII; the same rules as those of
 * the daemon (`provost-core`, `action/lookalikes.rs`). Positions are those of UTF-16.
 */

/** Letters of other scripts with the shape of an ASCII letter. */
const LETTERS = new Set('аеорсухіјѕһԁԛԝгӏАВЕЗКМНОРСТХУЅІЈԌԜοορνυγιΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհքԼՕՏ')

const ANY_LETTER = new RegExp(`[${[...LETTERS].join('')}]`, 'u')

/** Signs with the shape of an ASCII sign, apart from dashes and quotation marks. */
const SIGNS = new Set('․‥…∕⁄⧸⟋／∖⧵＼ꓸ·•∙：∶꞉ː‚٬，;；＠＿˗−∼～＃＄％＆＊＋＝！ǃ｜ǀ∣❘')
const MARKS = /[\p{Pd}\p{Pi}\p{Pf}]/u

/** Scripts of which no letter has the shape of an ASCII letter, so that names mix them. */
const DISTINCT = /[\u3041-\u3096\u30a1-\u30cb\u30cd-\u30ce\u30d0-\u30fa\u3400-\u4dbf\u4e03-\u9fff\uac00-\ud7a3]/u
const LATIN = new Set('ßæøœþðłđħŧŋĸÆØŒÞÐŁĐĦŦŊẞ')
const ASCII_LETTER = /[a-z]/i
const ASCII_ALPHANUMERIC = /[a-z0-9]/i
const WORD = /[\p{Alphabetic}\p{N}]+/gu

/** The positions of letters that look like ASCII letters, in or beside words that have such letters. */
export function findLookalikes(text: string): readonly number[] {
  if (!ANY_LETTER.test(text)) return []
  return [...text.matchAll(/\S+/gu)].flatMap((run) => {
    const isMixed = ASCII_LETTER.test(run[0])
    return [...run[0].matchAll(WORD)].flatMap((word) => {
      const isOne = ASCII_LETTER.test(word[0]) || (isMixed && [...word[0]].every((char) => LETTERS.has(char)))
      return isOne ? findIn(word[0], run.index + word.index, (char) => LETTERS.has(char)) : []
    })
  })
}

/** The positions of all that may be mistaken in a name. */
export function findDisguises(name: string): readonly number[] {
  if (isAscii(name)) return []
  const hasAscii = ASCII_LETTER.test(name)
  const letters = [...name.matchAll(WORD)].flatMap((word) => {
    const isMixed = ASCII_ALPHANUMERIC.test(word[0])
    const allAlike = hasAscii && [...word[0]].every((char) => LETTERS.has(char))
    const isDisguise = (char: string): boolean =>
      !isAscii(char) && (isStyled(char) || allAlike || (isMixed && !isLatin(char) && !DISTINCT.test(char)))
    return findIn(word[0], word.index, isDisguise)
  })
  const signs = findIn(name, 0, (char) => !isAscii(char) && (SIGNS.has(char) || MARKS.test(char)))
  return [...new Set([...findLookalikes(name), ...letters, ...signs])].sort((a, b) => a - b)
}

function findIn(text: string, start: number, test: (char: string) => boolean): number[] {
  const found: number[] = []
  let at = start
  for (const char of text) {
    if (test(char)) found.push(at)
    at += char.length
  }
  return found
}

function isAscii(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- all of ASCII
  return /^[\u0000-\u007f]*$/u.test(text)
}

/** Whether a letter is an ASCII letter or digit in another style, such as `𝐚`. */
function isStyled(char: string): boolean {
  const plain = [...char.normalize('NFKC')][0] ?? ''
  return plain !== char && ASCII_ALPHANUMERIC.test(plain)
}

function isLatin(char: string): boolean {
  return LATIN.has(char) || ASCII_LETTER.test([...char.normalize('NFD')][0] ?? '')
}
