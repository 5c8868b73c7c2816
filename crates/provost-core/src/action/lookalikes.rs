//! Characters that look like others, where a text is otherwise ASCII.

use std::ops::RangeInclusive;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Letters of other scripts with the shape of an ASCII letter.
const LOOKALIKE_LETTERS: &str = "аеорсухіјѕһԁԛԝгӏАВЕЗКМНОРСТХУЅІЈԌԜοορνυγιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\
                                 օոսցհքԼՕՏ";

/// Signs with the shape of an ASCII sign, apart from dashes and quotation marks.
const LOOKALIKE_SIGNS: &str = "․‥…∕⁄⧸⟋／∖⧵＼ꓸ·•∙：∶꞉ː‚٬，;；＠＿˗−∼～＃＄％＆＊＋＝！ǃ｜ǀ∣❘";

/// Scripts of which no letter has the shape of an ASCII letter, so that names mix them.
const DISTINCT_SCRIPTS: &[RangeInclusive<char>] = &[
    // Japanese without the letters that are single strokes, Chinese, Korean.
    '\u{3041}'..='\u{3096}',
    '\u{30a1}'..='\u{30cb}',
    '\u{30cd}'..='\u{30ce}',
    '\u{30d0}'..='\u{30fa}',
    '\u{3400}'..='\u{4dbf}',
    '\u{4e03}'..='\u{9fff}',
    '\u{ac00}'..='\u{d7a3}',
];

/// Letters of Latin without a decomposition.
const LATIN_LETTERS: &str = "ßæøœþðłđħŧŋĸÆØŒÞÐŁĐĦŦŊẞ";

/// The positions of letters that look like ASCII letters, in words that have such letters too
/// (`gіthub.com`), and of words of such letters alone beside ASCII letters (`сору.md`).
pub(super) fn find_lookalikes(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    for (start, run) in split_at(text, char::is_whitespace) {
        let is_mixed = has_ascii_letters(run);
        for (at, word) in split_at(run, |c| !c.is_alphanumeric()) {
            let is_one = has_ascii_letters(word) || is_mixed && word.chars().all(is_lookalike);
            if is_one {
                let letters = word.char_indices().filter(|(_, c)| is_lookalike(*c));
                found.extend(letters.map(|(inside, _)| start + at + inside));
            }
        }
    }
    found
}

/// The positions of all that may be mistaken in a name: also any letter of another script in a
/// word with ASCII letters or digits, letters that are written as ASCII letters in another style,
/// and signs.
pub(super) fn find_disguises(name: &str) -> Vec<usize> {
    let mut found = find_lookalikes(name);
    if name.is_ascii() {
        return found;
    }
    let has_ascii = has_ascii_letters(name);
    for (start, word) in split_at(name, |c| !c.is_alphanumeric()) {
        let is_mixed = word.chars().any(|c| c.is_ascii_alphanumeric());
        let is_disguise = |c: char| {
            !c.is_ascii() && (is_styled(c) || is_mixed && !is_latin(c) && !is_distinct(c))
        };
        let all_alike = has_ascii && word.chars().all(is_lookalike);
        let letters = word.char_indices().filter(|(_, c)| is_disguise(*c) || all_alike);
        found.extend(letters.map(|(inside, _)| start + inside));
    }
    let signs = name.char_indices().filter(|(_, c)| is_lookalike_sign(*c));
    found.extend(signs.map(|(at, _)| at));
    found.sort_unstable();
    found.dedup();
    found
}

/// The parts between characters, with their positions.
fn split_at<'a>(
    text: &'a str,
    is_end: impl Fn(char) -> bool + 'a,
) -> impl Iterator<Item = (usize, &'a str)> {
    let parts = text.split(move |c: char| is_end(c)).filter(|part| !part.is_empty());
    parts.map(move |part| (part.as_ptr().addr() - text.as_ptr().addr(), part))
}

fn has_ascii_letters(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn is_lookalike(c: char) -> bool {
    !c.is_ascii() && LOOKALIKE_LETTERS.contains(c)
}

/// Whether a letter is an ASCII letter or digit in another style, such as `𝐚` or `ª`.
fn is_styled(c: char) -> bool {
    let mut plain = std::iter::once(c).nfkc();
    let first = plain.next();
    first != Some(c) && first.is_some_and(|first| first.is_ascii_alphanumeric())
}

/// Whether a letter is an ASCII letter with visible marks, or another letter of Latin.
fn is_latin(c: char) -> bool {
    LATIN_LETTERS.contains(c)
        || std::iter::once(c).nfd().next().is_some_and(|base| base.is_ascii_alphabetic())
}

fn is_distinct(c: char) -> bool {
    DISTINCT_SCRIPTS.iter().any(|script| script.contains(&c))
}

fn is_lookalike_sign(c: char) -> bool {
    let is_mark = matches!(
        c.general_category(),
        GeneralCategory::DashPunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
    );
    !c.is_ascii() && (is_mark || LOOKALIKE_SIGNS.contains(c))
}
