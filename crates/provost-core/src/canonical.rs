//! Canonical JSON after RFC 8785: one text for one value, so that it can be hashed.
//!
//! Numbers are written as ECMAScript writes them, members are sorted by their
//! UTF-16 code units, nothing is escaped that need not be. An integer that a
//! double cannot hold exactly is an error: two readers would see two numbers.

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum NotCanonical {
    /// No double holds this integer exactly.
    #[error("{0} is not exact in every JSON reader; write it as a string")]
    Inexact(Number),
    /// The value does not serialise to JSON at all.
    #[error("this does not serialise to JSON")]
    Json(#[from] serde_json::Error),
}

/// The largest integer that every JSON reader holds exactly.
const EXACT: u64 = (1 << 53) - 1;

/// The canonical text of anything that serialises.
pub fn to_vec(value: &impl Serialize) -> Result<Vec<u8>, NotCanonical> {
    let mut out = Vec::with_capacity(256);
    write(&mut out, &serde_json::to_value(value)?)?;
    Ok(out)
}

/// Writes the canonical text of a value behind what is in `out`.
pub fn write(out: &mut Vec<u8>, value: &Value) -> Result<(), NotCanonical> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number)?,
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(out, item)?;
            }
            out.push(b']');
        }
        Value::Object(members) => write_members(out, members)?,
    }
    Ok(())
}

fn write_members(out: &mut Vec<u8>, members: &Map<String, Value>) -> Result<(), NotCanonical> {
    fn each<'a>(
        out: &mut Vec<u8>,
        members: impl Iterator<Item = (&'a String, &'a Value)>,
    ) -> Result<(), NotCanonical> {
        out.push(b'{');
        for (i, (key, value)) in members.enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_string(out, key);
            out.push(b':');
            write(out, value)?;
        }
        out.push(b'}');
        Ok(())
    }

    // serde_json sorts by UTF-8 bytes unless a feature of it, switched on by
    // anyone in the build, keeps insertion order; so look instead of trusting.
    let sorted = members.keys().is_sorted() && members.keys().all(|key| key.is_ascii());
    if sorted {
        return each(out, members.iter());
    }
    let mut list: Vec<_> = members.iter().collect();
    list.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    each(out, list.into_iter())
}

fn write_number(out: &mut Vec<u8>, number: &Number) -> Result<(), NotCanonical> {
    let exact = match (number.as_u64(), number.as_i64()) {
        (Some(n), _) => n <= EXACT,
        (None, Some(n)) => n.unsigned_abs() <= EXACT,
        (None, None) => false,
    };
    if exact {
        serde_json::to_writer(out, number)?;
        return Ok(());
    }
    let inexact = || NotCanonical::Inexact(number.clone());
    let double = number.as_f64().ok_or_else(inexact)?;
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(double);
    // A large integer passes only if the double beside it is written the same.
    if !number.is_f64() && text != number.to_string() {
        return Err(inexact());
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Writes a string as RFC 8785 wants it, which is how `JSON.stringify` does.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x09 => b"\\t",
            0x0a => b"\\n",
            0x0c => b"\\f",
            0x0d => b"\\r",
            0x00..=0x1f => {
                out.extend_from_slice(&bytes[from..at]);
                let digit = b"0123456789abcdef"[usize::from(byte & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
                from = at + 1;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..at]);
        out.extend_from_slice(escape);
        from = at + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(String::from_utf8(to_vec(&value).unwrap()).unwrap(), expected);
    }

    #[test]
    fn the_examples_of_the_rfc_come_out_as_the_rfc_says() {
        // RFC 8785, 3.2.2 and 3.2.3.
        check(
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
                "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
        );
        check(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
                "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
    }

    #[test]
    fn numbers_come_out_as_in_appendix_b_of_the_rfc() {
        for (bits, text) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        ] {
            let float = f64::from_bits(bits);
            assert_eq!(to_vec(&float).unwrap(), text.as_bytes(), "{bits:x}");
        }
    }

    #[test]
    fn an_integer_that_a_double_cannot_hold_is_refused() {
        assert!(to_vec(&EXACT).is_ok());
        assert!(to_vec(&(EXACT + 1)).is_ok());
        assert!(to_vec(&(EXACT + 2)).is_err());
        assert!(to_vec(&u64::MAX).is_err());
        assert!(to_vec(&i64::MIN).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |f| Number::from_f64(f).map(Value::Number)),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reading_the_canonical_text_and_writing_it_again_changes_nothing(value in any_json()) {
            let once = to_vec(&value).unwrap();
            let read: Value = serde_json::from_slice(&once).unwrap();
            prop_assert_eq!(to_vec(&read).unwrap(), once);
        }
    }
}
