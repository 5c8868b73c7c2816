//! File names in patches.

use std::borrow::Cow;

/// The file name of a header line, unquoted and without the timestamp; `None` for `/dev/null`.
/// The error says what is wrong.
pub(super) fn parse_file_name(text: &str) -> Result<Option<Cow<'_, str>>, &'static str> {
    let text = text.trim_end_matches('\r');
    if text.starts_with('"') {
        let (name, _) = unquote_git_name(text)?;
        return Ok(Some(name.into()));
    }
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    match name {
        "" => Err("a name is missing"),
        "/dev/null" => Ok(None),
        name => Ok(Some(name.into())),
    }
}

/// A name quoted by git, and the rest of the line.
fn unquote_git_name(text: &str) -> Result<(String, &str), &'static str> {
    const OPEN: &str = "a quoted name does not end";
    let mut bytes = Vec::new();
    let mut at = 1;
    let source = text.as_bytes();
    loop {
        match *source.get(at).ok_or(OPEN)? {
            b'"' => break,
            b'\\' => {
                let escape = *source.get(at + 1).ok_or(OPEN)?;
                at += 1;
                bytes.push(match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'v' => 11,
                    b'f' => 12,
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let digits = text.get(at..at + 3).ok_or(OPEN)?;
                        at += 2;
                        u8::from_str_radix(digits, 8).map_err(|_| "a quoted name is malformed")?
                    }
                    _ => return Err("a quoted name is malformed"),
                });
            }
            byte => bytes.push(byte),
        }
        at += 1;
    }
    let name = String::from_utf8(bytes).map_err(|_| "a name is not UTF-8")?;
    Ok((name, &text[at + 1..]))
}

/// The one name in `diff --git a/NAME b/NAME`, if both are the same.
pub(super) fn parse_git_diff_line(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\r');
    let (old, new) = if text.starts_with('"') {
        let (old, rest) = unquote_git_name(text).ok()?;
        (old, parse_file_name(rest.trim_start()).ok()??.into_owned())
    } else {
        // Names may contain spaces; both have the same length, so the middle is known.
        let middle = text.len() / 2;
        let (old, new) = (text.get(..middle)?, text.get(middle..)?.strip_prefix(' ')?);
        (old.to_owned(), new.to_owned())
    };
    let (old, new) = strip_diff_prefixes(Some(&old), Some(&new));
    if old == new { old.map(str::to_owned) } else { None }
}

/// Removes `a/` and `b/` (or git's other prefixes), if both names have one.
pub(super) fn strip_diff_prefixes<'n>(
    old: Option<&'n str>,
    new: Option<&'n str>,
) -> (Option<&'n str>, Option<&'n str>) {
    fn split(name: &str) -> Option<(u8, &str)> {
        let (letter, rest) = (*name.as_bytes().first()?, name.get(1..)?.strip_prefix('/')?);
        letter.is_ascii_lowercase().then_some((letter, rest))
    }
    match (old, old.and_then(split), new, new.and_then(split)) {
        (_, Some((a, old)), _, Some((b, new))) if a != b => (Some(old), Some(new)),
        (_, Some((b'a', old)), None, _) => (Some(old), None),
        (None, _, _, Some((b'b', new))) => (None, Some(new)),
        _ => (old, new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(parse_file_name(text).unwrap().as_deref(), Some(expected));
    }

    #[test]
    fn a_name_is_read_as_git_and_diff_write_it() {
        check("a/src/lib.rs", "a/src/lib.rs");
        check("a/with space\t2026-11-15 10:00:00", "a/with space");
        check("a/x\r", "a/x");
        check(r#""a/\303\244 \"q\".txt""#, "a/ä \"q\".txt");
        assert_eq!(parse_file_name("/dev/null\t1970-01-01"), Ok(None));
        for bad in ["", "\"a", "\"\\9\"", "\"\\303\"", "\"\\", "\"\\37"] {
            assert!(parse_file_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_prefix_goes_only_where_both_names_have_one() {
        assert_eq!(strip_diff_prefixes(Some("a/x"), Some("b/x")), (Some("x"), Some("x")));
        assert_eq!(strip_diff_prefixes(Some("i/x"), Some("w/x")), (Some("x"), Some("x")));
        assert_eq!(strip_diff_prefixes(Some("a/x"), Some("a/x")), (Some("a/x"), Some("a/x")));
        assert_eq!(strip_diff_prefixes(Some("x"), Some("b/x")), (Some("x"), Some("b/x")));
        assert_eq!(strip_diff_prefixes(None, Some("b/x")), (None, Some("x")));
        assert_eq!(strip_diff_prefixes(None, Some("w/x")), (None, Some("w/x")));
        assert_eq!(parse_git_diff_line("a/my file b/my file").as_deref(), Some("my file"));
        assert_eq!(parse_git_diff_line("a/x b/y"), None);
    }
}
