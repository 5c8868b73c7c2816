//! A provider's key, which is never shown.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// How keys of known providers begin. Some providers put a part of the key into
/// their error messages; what begins like one is taken out too.
const KEY_PREFIXES: [&str; 6] = ["sk-", "sk_", "AIza", "gsk_", "xai-", "pplx-"];

/// Replaces a key in texts.
const REDACTED_KEY: &str = "[key]";

/// A key. It can be put into a header and taken out of texts, and nothing else:
/// it has no `Display`, is not serialized, and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key, without the white space that copying leaves around it; `None` if
    /// nothing is left or it cannot stand in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The key itself, for a header.
    pub(super) fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ApiKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The value is not in the message.
        Self::new(&text).ok_or_else(|| de::Error::custom("not a key: empty, or not plain ASCII"))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The text without these keys, and without what looks like a key.
pub(super) fn redact_keys<'a>(keys: impl IntoIterator<Item = &'a ApiKey>, text: &str) -> String {
    let mut clean = text.to_owned();
    for key in keys {
        clean = clean.replace(key.expose_secret(), REDACTED_KEY);
    }
    for head in KEY_PREFIXES {
        clean = redact_prefixed_words(&clean, head);
    }
    clean
}

/// The text without the words that begin like this.
fn redact_prefixed_words(text: &str, head: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(head) {
        let before = &rest[..at];
        let begins = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let body = &rest[at + head.len()..];
        let of_key = |c: char| c.is_ascii_alphanumeric() || "_-*.…".contains(c);
        let end = body.find(|c: char| !of_key(c)).unwrap_or(body.len());
        clean.push_str(before);
        // Short words like `sk-ip` are no keys.
        clean.push_str(if begins && end >= 8 {
            REDACTED_KEY
        } else {
            &rest[at..at + head.len() + end]
        });
        rest = &body[end..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_neither_whole_nor_in_part() {
        let key = ApiKey::new(" secret/of+mine \n").unwrap();
        assert_eq!(format!("{key:?}"), "Key(…)");
        for (text, clean) in [
            ("bad key secret/of+mine.", "bad key [key]."),
            (
                "Incorrect API key provided: sk-pr**********wxYZ. See",
                "Incorrect API key provided: [key] See",
            ),
            ("key=AIzaSyD4_abcdefgh&x", "key=[key]&x"),
            ("a task-list-of-things and sk-ip", "a task-list-of-things and sk-ip"),
        ] {
            assert_eq!(redact_keys([&key], text), clean);
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_no_key() {
        for text in ["", "  ", "a b", "a\nb", "schlüssel"] {
            assert_eq!(ApiKey::new(text), None, "{text:?}");
        }
    }
}
