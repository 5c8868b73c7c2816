//! Ids and TOML texts of rules.

use std::fmt::Write as _;

/// A readable id that is the same for the same words.
pub(super) fn build_rule_id(parts: &[&str], words: &[String]) -> String {
    let mut id = String::new();
    for part in parts {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        id.extend(part.chars().take(32).map(plain));
        id.push('-');
    }
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(&(word.len() as u64).to_le_bytes());
        hasher.update(word.as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    id.push_str(&hex[..8]);
    id
}

/// A TOML string with this text, invisible characters escaped.
pub(super) fn quote_toml(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if crate::action::escape_invisible(c.encode_utf8(&mut [0; 4])).starts_with('\\')
                && c != '`' =>
            {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A TOML list of strings.
pub(super) fn quote_toml_list(texts: &[String]) -> String {
    let items: Vec<_> = texts.iter().map(|text| quote_toml(text)).collect();
    format!("[{}]", items.join(", "))
}
