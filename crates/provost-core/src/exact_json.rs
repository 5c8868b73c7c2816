//! JSON whose numbers and texts are kept as they were written.
//!
//! A [`Value`] holds numbers as integers of 64 bits or doubles, strings without lone surrogates,
//! and each name once; canonical JSON writes `1.0` as `1`. What another program sent may be more
//! than that. Each part that would not come out of the log as it came in is held as its text, in
//! an object with one member: `{"$json":"1.0"}`. [`to_text`] writes the text back. An object of
//! the sender that has this member itself is held as its text as well, so there is one reading
//! only (ADR 22).

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::canonical;

/// The name of the member that holds the text of a part.
const TEXT_MEMBER: &str = "$json";

/// The deepest nesting that is held as a tree: readers of JSON have limits, and what is held is
/// put into other objects. Deeper parts are held as their text.
pub const MAX_TREE_DEPTH: usize = 48;

/// A part that is held as its text.
pub fn from_text(text: impl Into<String>) -> Value {
    Value::Object(Map::from_iter([(TEXT_MEMBER.to_owned(), Value::String(text.into()))]))
}

/// The text of a part that is held as its text.
pub fn extract_text(value: &Value) -> Option<&str> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.get(TEXT_MEMBER)?.as_str()
}

/// Reads JSON so that [`to_text`] writes the same values, for any valid JSON.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let valid: &RawValue = serde_json::from_str(text)?;
    Ok(ExactJsonReader { text: valid.get(), at: 0, whole_members: &[] }
        .read_value(0, ReadFidelity::Exact))
}

/// Reads JSON whose structure is known, such as an event of a stream: of two members with one
/// name the last is read, and a lone surrogate as U+FFFD. Objects and arrays in members of the
/// given names are held as their text.
pub fn parse_message(text: &str, whole_members: &[&str]) -> Result<Value, serde_json::Error> {
    let valid: &RawValue = serde_json::from_str(text)?;
    Ok(ExactJsonReader { text: valid.get(), at: 0, whole_members }
        .read_value(0, ReadFidelity::Known))
}

/// A JSON text as a tree if nothing in it must be held as text, and as its text otherwise; `None`
/// if it is not JSON.
pub fn tree_or_text(text: &str) -> Option<Value> {
    let value = parse(text).ok()?;
    Some(if has_text(&value) { from_text(text) } else { value })
}

/// Whether a part of the value is held as text.
fn has_text(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(members) => extract_text(value).is_some() || members.values().any(has_text),
    }
}

/// Writes a value, with the parts that are held as text as they were.
pub fn to_text(value: &Value) -> String {
    // Serialising values to a string does not fail.
    serde_json::to_string(&ExactJsonText(value)).unwrap_or_default()
}

/// A number that may be held as text, as a double.
pub fn as_f64(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| extract_text(value)?.parse().ok())
}

/// The value with those parts held as text that have no canonical form: integers that a double
/// cannot represent, and what is too deep.
pub(crate) fn hold_unsafe_parts(value: Value, depth: usize) -> Value {
    if depth >= MAX_TREE_DEPTH && (value.is_object() || value.is_array()) {
        return from_text(to_text(&value));
    }
    match value {
        Value::Number(number) if canonical::to_vec(&number).is_err() => {
            from_text(number.to_string())
        }
        Value::Array(items) => {
            items.into_iter().map(|item| hold_unsafe_parts(item, depth + 1)).collect()
        }
        Value::Object(members) => {
            let held = |(name, value)| (name, hold_unsafe_parts(value, depth + 1));
            Value::Object(members.into_iter().map(held).collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

struct ExactJsonText<'a>(&'a Value);

impl Serialize for ExactJsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = extract_text(self.0) {
            // Redaction may have left what is no JSON.
            return match RawValue::from_string(text.to_owned()) {
                Ok(raw) => raw.serialize(serializer),
                Err(_) => serializer.serialize_str(text),
            };
        }
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(ExactJsonText)),
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, &ExactJsonText(value))?;
                }
                map.end()
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                plain.serialize(serializer)
            }
        }
    }
}

/// How faithfully a part is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadFidelity {
    /// Whatever would change is held as text.
    Exact,
    /// A message of known structure must stay readable.
    Known,
}

/// Reads text that is known to be valid JSON.
struct ExactJsonReader<'a> {
    text: &'a str,
    at: usize,
    whole_members: &'a [&'a str],
}

impl<'a> ExactJsonReader<'a> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Skips white space and separators, whose positions valid JSON determines.
    fn skip_separators(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn read_value(&mut self, depth: usize, reading: ReadFidelity) -> Value {
        self.skip_separators();
        match self.peek() {
            b'{' | b'[' if depth >= MAX_TREE_DEPTH => from_text(self.take_container()),
            b'{' => self.read_object(depth, reading),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while self.has_more(b']') {
                    items.push(self.read_value(depth + 1, reading));
                }
                Value::Array(items)
            }
            b'"' => {
                let token = self.take_string();
                match (serde_json::from_str(token), reading) {
                    (Ok(text), _) => Value::String(text),
                    (Err(_), ReadFidelity::Exact) => from_text(token),
                    (Err(_), ReadFidelity::Known) => Value::String(read_lossy(token)),
                }
            }
            _ => read_scalar(self.take_scalar()),
        }
    }

    /// Whether another item or member comes before the end of its container, which is skipped.
    fn has_more(&mut self, end: u8) -> bool {
        self.skip_separators();
        let ends = self.peek() == end || self.at >= self.text.len();
        self.at += usize::from(ends);
        !ends
    }

    fn read_object(&mut self, depth: usize, reading: ReadFidelity) -> Value {
        let start = self.at;
        self.at += 1;
        let (mut members, mut is_tree) = (Map::new(), true);
        while self.has_more(b'}') {
            let token = self.take_string();
            let name = serde_json::from_str::<String>(token);
            is_tree &= name.is_ok();
            let name = name.unwrap_or_else(|_| read_lossy(token));
            is_tree &= name != TEXT_MEMBER;
            self.skip_separators();
            let is_whole =
                matches!(self.peek(), b'{' | b'[') && self.whole_members.contains(&name.as_str());
            let value = if is_whole {
                from_text(self.take_container())
            } else {
                self.read_value(depth + 1, reading)
            };
            let is_new = members.insert(name, value).is_none();
            is_tree &= is_new || reading == ReadFidelity::Known;
        }
        if is_tree { Value::Object(members) } else { from_text(self.since(start)) }
    }

    /// The text of an object or array, however deep.
    fn take_container(&mut self) -> &'a str {
        let (start, mut open) = (self.at, 0_usize);
        loop {
            match self.peek() {
                b'"' => {
                    self.take_string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 || self.at >= self.text.len() {
                return self.since(start);
            }
        }
    }

    /// The text of a string, with its quotes.
    fn take_string(&mut self) -> &'a str {
        let start = self.at;
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.since(start)
    }

    /// The text of a number or of a word.
    fn take_scalar(&mut self) -> &'a str {
        let start = self.at;
        while !matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r' | b',' | b'}' | b']' | 0) {
            self.at += 1;
        }
        self.since(start)
    }
}

fn read_scalar(token: &str) -> Value {
    match token {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        number => {
            let read = serde_json::from_str::<Number>(number).ok();
            let is_same =
                |read: &Number| canonical::to_vec(read).is_ok_and(|text| text == number.as_bytes());
            read.filter(is_same).map_or_else(|| from_text(number), Value::Number)
        }
    }
}

/// The text of a string token, with U+FFFD for each lone surrogate.
fn read_lossy(token: &str) -> String {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(token);
    let mut fixed = String::with_capacity(token.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        fixed.push_str(before);
        let unit = |text: &str| {
            let digits = text.strip_prefix("\\u")?.get(..4)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let (length, written): (usize, Cow<'_, str>) = match unit(escape) {
            Some(0xd800..=0xdbff)
                if matches!(escape.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) =>
            {
                (12, escape.get(..12).unwrap_or_default().into())
            }
            Some(0xd800..=0xdfff) => (6, "\u{fffd}".into()),
            Some(_) => (6, escape.get(..6).unwrap_or_default().into()),
            None => (2, escape.get(..2).unwrap_or_default().into()),
        };
        fixed.push_str(&written);
        rest = escape.get(length..).unwrap_or_default();
    }
    fixed.push_str(rest);
    serde_json::from_str(&format!("\"{fixed}\"")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn parts_that_would_change_are_held_as_their_text() {
        for (text, expected) in [
            ("1.0", json!({ "$json": "1.0" })),
            ("-0", json!({ "$json": "-0" })),
            ("1e400", json!({ "$json": "1e400" })),
            ("9007199254740993", json!({ "$json": "9007199254740993" })),
            ("123456789012345678901", json!({ "$json": "123456789012345678901" })),
            (r#""\ud83d""#, json!({ "$json": r#""\ud83d""# })),
            (r#"{"a":1,"a":2}"#, json!({ "$json": r#"{"a":1,"a":2}"# })),
            (r#"{"$json":"x"}"#, json!({ "$json": r#"{"$json":"x"}"# })),
            (r#" {"b": [1.5, true], "a":"é\n"} "#, json!({ "a": "é\n", "b": [1.5, true] })),
            ("1e+30", json!(1e30)),
        ] {
            let value = parse(text).unwrap();
            assert_eq!(value, expected, "{text}");
            let written = to_text(&value);
            assert_eq!(parse(&written).unwrap(), value, "{written}");
            if extract_text(&value).is_some() {
                assert_eq!(written, text);
            }
        }
        assert!(parse("{").is_err() && parse("01").is_err() && parse("").is_err());
    }

    #[test]
    fn a_message_stays_readable_and_its_whole_members_keep_their_text() {
        let text = r#"{"type":"x","type":"y","text":"a\ud83d \ud83d\ude00\\ud83d",
            "args":{"b": 1, "a":1.0,"a":2},"input":"in","n":12.0}"#;
        let value = parse_message(text, &["args", "input"]).unwrap();
        assert_eq!(value["type"], "y");
        assert_eq!(value["text"], "a\u{fffd} 😀\\ud83d");
        assert_eq!(extract_text(&value["args"]), Some(r#"{"b": 1, "a":1.0,"a":2}"#));
        assert_eq!(value["input"], "in");
        assert_eq!(as_f64(&value["n"]), Some(12.0));
    }

    #[test]
    fn what_is_deep_is_held_as_text_and_comes_back_whole() {
        let text = format!("{}1.0{}", "[".repeat(5000), "]".repeat(5000));
        let value = parse(&text).unwrap();
        assert_eq!(to_text(&value), text);
        assert!(canonical::to_vec(&value).is_ok());
        assert_eq!(tree_or_text(&text).as_ref().and_then(extract_text), Some(text.as_str()));
    }

    proptest! {
        #[test]
        fn any_json_comes_back_and_has_a_canonical_form_that_reads_the_same(
            text in any_json_text(),
        ) {
            let value = parse(&text).unwrap();
            let stored = canonical::to_vec(&value).unwrap();
            let read: Value = serde_json::from_slice(&stored).unwrap();
            prop_assert_eq!(&read, &value);
            prop_assert_eq!(canonical::to_vec(&read).unwrap(), stored);
            let written = to_text(&value);
            prop_assert_eq!(parse(&written).unwrap(), value);
            let mut tokens = [number_tokens(&text), number_tokens(&written)];
            for list in &mut tokens {
                list.sort();
            }
            prop_assert_eq!(&tokens[0], &tokens[1], "no number has changed");
        }

        #[test]
        fn nothing_that_is_sent_makes_the_reader_fail(text in ".{0,80}") {
            let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
            prop_assert_eq!(parse(&text).is_ok(), is_json);
            prop_assert_eq!(parse_message(&text, &["args"]).is_ok(), is_json);
        }
    }

    /// The numbers of a text outside of its strings.
    fn number_tokens(text: &str) -> Vec<String> {
        let (mut numbers, mut number, mut in_string, mut escaped) =
            (vec![], String::new(), false, false);
        for c in text.chars().chain([' ']) {
            if in_string {
                (in_string, escaped) = (c != '"' || escaped, c == '\\' && !escaped);
            } else if c == '"' {
                in_string = true;
            } else if c.is_ascii_digit()
                || matches!(c, '-' | '+' | '.' | 'E')
                || c == 'e' && !number.is_empty()
            {
                number.push(c);
            } else if !number.is_empty() {
                numbers.push(std::mem::take(&mut number));
            }
        }
        numbers
    }

    /// Any JSON, as another program may write it.
    fn any_json_text() -> impl Strategy<Value = String> {
        let string = prop_oneof![
            "[a-z$]{0,6}".prop_map(|text| format!("\"{text}\"")),
            any::<String>().prop_map(|text| json!(text).to_string()),
            Just(r#""\ud83d""#.to_owned()),
            Just(r#""\ude00\ud83dx""#.to_owned()),
            Just("\"$json\"".to_owned()),
        ];
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|flag| flag.to_string()),
            "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
            string.clone(),
        ];
        leaf.prop_recursive(5, 48, 5, move |inner| {
            let members = (string.clone(), inner.clone())
                .prop_map(|(name, value)| format!("{name}: {value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..5)
                    .prop_map(|items| format!("[{}]", items.join(" ,"))),
                prop::collection::vec(members, 0..5)
                    .prop_map(|items| format!("{{{}}}", items.join(","))),
            ]
        })
    }
}
