//! The shape of Provost's own tokens: `provost_<class>_<64 hexadecimal digits>`. They are found
//! by it, because only hashes of them are stored.

/// The prefixes of tokens, by class.
pub(super) const TOKEN_PREFIXES: [&[u8]; 4] =
    [b"provost_operator_", b"provost_agent_", b"provost_runtime_", b"provost_viewer_"];

/// The mark that replaces one.
pub(super) const TOKEN_MARK: &str = "[redacted: Provost token]";

const TOKEN_DIGITS: usize = 64;

/// The length of the longest token.
pub(super) const MAX_TOKEN_BYTES: usize = TOKEN_PREFIXES[0].len() + TOKEN_DIGITS;

/// The end of the token whose prefix ends here, if it is one.
pub(super) fn find_token_end(bytes: &[u8], head: usize) -> Option<usize> {
    let digits = bytes.get(head..head + TOKEN_DIGITS)?;
    digits.iter().copied().all(is_hex_digit).then_some(head + TOKEN_DIGITS)
}

/// Whether this is a proper prefix of a token.
pub(super) fn is_incomplete_token(tail: &[u8]) -> bool {
    TOKEN_PREFIXES.iter().any(|head| match tail.strip_prefix(*head) {
        Some(digits) => digits.len() < TOKEN_DIGITS && digits.iter().copied().all(is_hex_digit),
        None => head.starts_with(tail),
    })
}

/// Whether this is the beginning of a token's prefix, which is no secret.
pub(super) fn is_incomplete_prefix(tail: &[u8]) -> bool {
    TOKEN_PREFIXES.iter().any(|head| head.starts_with(tail))
}

fn is_hex_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
