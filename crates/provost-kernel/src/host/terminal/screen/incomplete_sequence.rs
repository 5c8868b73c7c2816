//! Output that the terminal has read but cannot act on yet.

/// The suffix that is an incomplete escape sequence or character. A snapshot must
/// include it. A new escape ends any earlier sequence, so only the last one counts.
pub(in super::super) fn incomplete_suffix(bytes: &[u8]) -> &[u8] {
    if let Some(at) = memchr::memrchr(0x1b, bytes)
        && !is_complete_sequence(&bytes[at..])
    {
        return &bytes[at..];
    }
    let start = bytes.len() - bytes.len().min(3);
    for at in (start..bytes.len()).rev() {
        let needs = match bytes[at] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        if bytes.len() - at < needs {
            return &bytes[at..];
        }
        break;
    }
    &[]
}

/// Whether the sequence that begins here is complete.
fn is_complete_sequence(sequence: &[u8]) -> bool {
    let Some((&kind, rest)) = sequence[1..].split_first() else { return false };
    let cancels = |byte: &u8| matches!(byte, 0x18 | 0x1a);
    match kind {
        b'[' => rest.iter().any(|byte| (0x40..=0x7e).contains(byte) || cancels(byte)),
        // String sequences; `ESC \` ends them too, and is then the last escape itself.
        b']' => rest.iter().any(|byte| *byte == 0x07 || cancels(byte)),
        b'P' | b'X' | b'^' | b'_' => rest.iter().any(cancels),
        0x20..=0x2f => rest.iter().any(|byte| (0x30..=0x7e).contains(byte) || cancels(byte)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::incomplete_suffix;

    #[test]
    fn what_is_not_whole_is_found_at_the_end_and_nowhere_else() {
        for (bytes, end) in [
            (&b""[..], &b""[..]),
            (b"plain", b""),
            (b"\x1b", b"\x1b"),
            (b"a\x1b[", b"\x1b["),
            (b"a\x1b[31", b"\x1b[31"),
            (b"a\x1b[31m", b""),
            (b"a\x1b[31mb", b""),
            (b"\x1b]0;title", b"\x1b]0;title"),
            (b"\x1b]0;title\x07", b""),
            (b"\x1b]0;title\x1b", b"\x1b"),
            (b"\x1b]0;title\x1b\\", b""),
            (b"\x1bP1$r", b"\x1bP1$r"),
            (b"\x1bP1$r\x1b\\x", b""),
            (b"\x1b(", b"\x1b("),
            (b"\x1b(0", b""),
            (b"\x1b7", b""),
            (b"\x1b[3\x18", b""),
            ("é".as_bytes(), b""),
            (b"x\xc3", b"\xc3"),
            (b"x\xe2\x94", b"\xe2\x94"),
            (b"x\xf0\x9f\x98", b"\xf0\x9f\x98"),
            ("😀".as_bytes(), b""),
            (b"x\x80\x80", b""),
        ] {
            assert_eq!(incomplete_suffix(bytes), end, "{bytes:?}");
        }
    }
}
