//! Removes escape sequences from text.

use std::borrow::Cow;

/// The text without escape sequences and control characters, except tabs and line ends. Of a line
/// that was overwritten (`\r`), only the last version remains.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte < b' ' && byte != b'\n' && byte != b'\t' || byte == 0x7f) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\u{1b}' => skip_escape_sequence(&mut rest),
            '\r' if rest.peek().is_some_and(|after| *after != '\n') => {
                let line = kept.rfind('\n').map_or(0, |at| at + 1);
                kept.truncate(line);
            }
            '\n' | '\t' => kept.push(next),
            other if other.is_control() => {}
            other => kept.push(other),
        }
    }
    Cow::Owned(kept)
}

/// Skips an escape sequence.
fn skip_escape_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        // CSI: parameters, then one letter.
        Some('[') => while rest.next().is_some_and(|next| !('@'..='~').contains(&next)) {},
        // OSC and similar: up to BEL or ST.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(next) = rest.next() {
                match next {
                    '\u{7}' => break,
                    '\u{1b}' => {
                        rest.next();
                        break;
                    }
                    _ => {}
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::strip_ansi;

    #[test]
    fn what_colors_or_moves_is_gone_and_the_text_stays() {
        for (text, expected) in [
            ("plain\tü\n", "plain\tü\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link", "alink"),
            ("10%\r100%", "100%"),
            ("a\r\nb", "a\nb"),
            ("a\u{8}b\u{7f}", "ab"),
            ("\u{1b}(Bx\u{1b}", "x"),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(strip_ansi(text), expected, "{text:?}");
        }
    }
}
