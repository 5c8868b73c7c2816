//! Canonical JSON (RFC 8785): one text for each value, so that it can be hashed.
//!
//! Numbers are written as in ECMAScript, members are sorted by the UTF-16 code units of their
//! names, and only necessary characters are escaped. An integer that a double cannot represent
//! exactly is an error: two readers would see two numbers. Why this is our own code: ADR 14.

mod containers;
mod writer;

use serde::Serialize;
use serde_json::Number;

use writer::CanonicalWriter;
pub(crate) use writer::write_digits;

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum NotCanonical {
    /// A double cannot represent this integer exactly.
    #[error("{0} is not exact in every JSON reader; write it as a string")]
    Inexact(Number),
    /// The value cannot be serialized to JSON.
    #[error("the value cannot be serialized to JSON")]
    Json(#[from] serde_json::Error),
}

/// The largest integer that every JSON reader represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The canonical text of a value.
pub fn to_vec(value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, NotCanonical> {
    let mut writer = CanonicalWriter::new();
    value.serialize(&mut writer)?;
    Ok(writer.into_text())
}

/// The canonical text of a value, and what it does to readers.
#[derive(Debug)]
pub(crate) struct CanonicalText {
    pub(crate) text: Vec<u8>,
    /// Whether reading it gives another value: `1.0` is written as `1`.
    pub(crate) is_retyped: bool,
    /// How deep objects and arrays are nested in it.
    pub(crate) depth: usize,
}

/// The canonical text of a value, and what it does to readers.
pub(crate) fn to_canonical_text(
    value: &(impl Serialize + ?Sized),
) -> Result<CanonicalText, NotCanonical> {
    let mut writer = CanonicalWriter::new();
    value.serialize(&mut writer)?;
    let (is_retyped, depth) = (writer.is_retyped, writer.deepest);
    Ok(CanonicalText { text: writer.into_text(), is_retyped, depth })
}

/// How many bytes are checked at once for characters to escape.
const STRIDE: usize = 16;

/// Writes a string as RFC 8785 requires, like `JSON.stringify`.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let (strides, rest) = bytes.as_chunks::<STRIDE>();
    // Nearly always nothing is escaped, and this is faster than checking byte by byte.
    let none = |bytes: &[u8]| !bytes.iter().fold(false, |any, &byte| any | is_escaped(byte));
    if strides.iter().all(|stride| none(stride)) && none(rest) {
        out.extend_from_slice(bytes);
    } else {
        write_escaped(out, bytes);
    }
    out.push(b'"');
}

const fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

fn write_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x0d => out.extend_from_slice(b"\\r"),
            0x00..=0x1f => {
                let digit = b"0123456789abcdef"[usize::from(byte & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

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
        assert!(to_vec(&MAX_SAFE_INTEGER).is_ok());
        assert!(to_vec(&(MAX_SAFE_INTEGER + 1)).is_ok());
        assert!(to_vec(&(MAX_SAFE_INTEGER + 2)).is_err());
        assert!(to_vec(&u64::MAX).is_err());
        assert!(to_vec(&i64::MIN).is_err());
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(i8, f32),
        Fields { zeta: Option<char>, alpha: BTreeMap<u16, bool>, beta: () },
    }

    #[test]
    fn whatever_serializes_comes_out_as_its_json_does_with_its_members_in_order() {
        let map = BTreeMap::from([(10, true), (9, false)]);
        let shapes = (
            [Shape::Unit, Shape::Newtype(7), Shape::Tuple(-1, 0.5)],
            Shape::Fields { zeta: Some('"'), alpha: map, beta: () },
        );
        let text = String::from_utf8(to_vec(&shapes).unwrap()).unwrap();
        let expected = r#"[["unit",{"newtype":7},{"tuple":[-1,0.5]}],{"fields":{"alpha":{"10":true,"9":false},"beta":null,"zeta":"\""}}]"#;
        assert_eq!(text, expected);
        assert_eq!(text.as_bytes(), to_vec(&serde_json::to_value(&shapes).unwrap()).unwrap());
    }

    #[test]
    fn what_has_no_one_json_is_refused() {
        struct Twice;
        impl Serialize for Twice {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map([("a", 1), ("a", 2)])
            }
        }
        assert!(to_vec(&Twice).unwrap_err().to_string().contains("serialize"));
        assert!(to_vec(&BTreeMap::from([(vec![1], 1)])).is_err());
        assert!(to_vec(&serde_json::value::to_raw_value(&json!(1)).unwrap()).is_err());
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

    /// A list of members in any order, which a map of `serde_json` would not preserve.
    struct Unsorted(Vec<(String, Value)>);

    impl Serialize for Unsorted {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
        }
    }

    proptest! {
        #[test]
        fn the_order_in_which_members_come_does_not_matter(
            members in prop::collection::btree_map(".{0,4}", any_json(), 0..8)
                .prop_flat_map(|map| {
                    let list: Vec<_> = map.clone().into_iter().collect();
                    (Just(map), Just(list).prop_shuffle())
                }),
        ) {
            let (map, list) = members;
            let expected: Value = Value::Object(map.into_iter().collect());
            let text = to_vec(&Unsorted(list)).unwrap();
            prop_assert_eq!(&text, &to_vec(&expected).unwrap());
            let read: Value = serde_json::from_slice(&text).unwrap();
            prop_assert_eq!(to_vec(&read).unwrap(), text);
        }

        #[test]
        fn reading_the_canonical_text_and_writing_it_again_changes_nothing(value in any_json()) {
            let once = to_vec(&value).unwrap();
            let read: Value = serde_json::from_slice(&once).unwrap();
            prop_assert_eq!(to_vec(&read).unwrap(), once);
        }
    }
}
