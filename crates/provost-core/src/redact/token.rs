//! The shape of Provost's own tokens: `provost_<class>_<64 hexadecimal digits>`. They are found
//! by it, because only hashes of them are stored.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The prefixes of tokens, by class, and of the secret that a page keeps.
pub(super) const TOKEN_PREFIXES: [&[u8]; 5] = [
    b"provost_operator_",
    b"provost_agent_",
    b"provost_runtime_",
    b"provost_viewer_",
    b"provost_page_",
];

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

/// Whether a part of a request contains a token of Provost: as it is, percent-encoded, or in
/// Base64, as browsers send a password.
pub fn contains_own_token(bytes: &[u8]) -> bool {
    let decoded = decode_percent(bytes);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    contains_plain_token(bytes)
        || contains_plain_token(&decoded)
        || decoded.split(|byte| !is_word(byte)).filter(|word| word.len() > TOKEN_DIGITS).any(
            |word| {
                let engine = if word.iter().any(|byte| b"-_".contains(byte)) {
                    URL_SAFE_NO_PAD
                } else {
                    STANDARD_NO_PAD
                };
                engine.decode(word).is_ok_and(|text| contains_plain_token(&text))
            },
        )
}

fn contains_plain_token(bytes: &[u8]) -> bool {
    let starts = |at: usize, head: &[u8]| {
        bytes[at..].starts_with(head) && find_token_end(bytes, at + head.len()).is_some()
    };
    let mut candidates = (0..bytes.len()).filter(|at| bytes[*at] == TOKEN_PREFIXES[0][0]);
    candidates.any(|at| TOKEN_PREFIXES.iter().any(|head| starts(at, head)))
}

fn decode_percent(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let encoded = (*byte == b'%').then(|| Some(digit(at + 1)? * 16 + digit(at + 2)?)).flatten();
        decoded.push(encoded.and_then(|value| u8::try_from(value).ok()).unwrap_or(*byte));
        at += if encoded.is_some() { 3 } else { 1 };
    }
    decoded
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

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn tokens_are_found_however_a_client_encodes_them() {
        let token = format!("provost_agent_{}", "0a".repeat(32));
        let page = format!("provost_page_{}", "0a".repeat(32));
        let found = [
            token.clone(),
            page,
            format!("Bearer {token}"),
            format!("a=1&t={}&b", token.replace('_', "%5F").replace('p', "%70")),
            format!("Basic {}", STANDARD.encode(format!("me:{token}"))),
            format!("/x?auth={}", STANDARD.encode(&token).replace('=', "%3D")),
            format!("proto, {}", URL_SAFE_NO_PAD.encode(format!(">>>?{token}"))),
        ];
        for text in &found {
            assert!(contains_own_token(text.as_bytes()), "{text}");
        }
        let other = format!("provost_other_{}", "0a".repeat(32));
        for text in ["", "%", "%5", "provost_agent_", &token[..70], &other, &"A".repeat(200)] {
            assert!(!contains_own_token(text.as_bytes()), "{text}");
        }
    }
}
