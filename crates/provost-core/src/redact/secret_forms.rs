//! The encodings of a secret that are searched: plain, JSON, URL, base64.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// All encodings of a value, the plain one first.
pub(super) fn encode_forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_owned(), json_form(value)];
    forms.extend([url_form(value, HexCase::Upper), url_form(value, HexCase::Lower)]);
    forms.extend((0..3).flat_map(|shift| base64_forms(value, shift)));
    forms.into_iter().map(String::into_bytes).collect()
}

fn json_form(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(value).to_owned()
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

fn url_form(value: &str, case: HexCase) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        let written = match (byte, case) {
            (b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~', _) => {
                text.push(char::from(byte));
                Ok(())
            }
            (_, HexCase::Upper) => write!(text, "%{byte:02X}"),
            (_, HexCase::Lower) => write!(text, "%{byte:02x}"),
        };
        // Writing to a string cannot fail.
        debug_assert!(written.is_ok());
        text
    })
}

/// The base64 digits that depend on the value alone if `shift` bytes of a group of three precede
/// it: so it is found within a text that was encoded as a whole, and with the newline of `echo`.
fn base64_forms(value: &str, shift: usize) -> [String; 2] {
    let padded = [&[0; 2][..shift], value.as_bytes()].concat();
    let digits = (shift * 8).div_ceil(6)..padded.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)]
        .map(|text| text.get(digits.clone()).unwrap_or_default().to_owned())
}
