//! Change sets do what CodeMirror's do.

use proptest::prelude::*;
use provost_notebook::text::{ChangeError, ChangeSet, utf16_length};
use serde::Deserialize;
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../vectors/changes.json");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    text: String,
    a: Value,
    b: Value,
    after: String,
    next: Value,
    composed: Value,
    mapped: Value,
    mapped_before: Value,
    merged: String,
}

fn read(json: &Value) -> ChangeSet {
    ChangeSet::from_json(json).unwrap()
}

#[test]
fn changes_are_applied_composed_and_mapped_as_by_codemirror() {
    let vectors: Vec<Vector> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() >= 300);
    for vector in vectors {
        let (a, b) = (read(&vector.a), read(&vector.b));
        assert_eq!(a.to_json().unwrap(), vector.a);
        assert_eq!(a.apply(&vector.text).unwrap(), vector.after, "{}", vector.a);
        let composed = a.compose(&read(&vector.next)).unwrap();
        assert_eq!(composed.to_json().unwrap(), vector.composed, "{} {}", vector.a, vector.next);
        let mapped = b.map(&a, false).unwrap();
        assert_eq!(mapped.to_json().unwrap(), vector.mapped, "{} {}", vector.b, vector.a);
        let before = a.map(&b, true).unwrap();
        assert_eq!(before.to_json().unwrap(), vector.mapped_before, "{} {}", vector.a, vector.b);
        assert_eq!(mapped.apply(&vector.after).unwrap(), vector.merged);
    }
}

#[test]
fn malformed_changes_are_refused() {
    for json in [
        json!(null),
        json!("x"),
        json!({ "a": 1 }),
        json!([-1]),
        json!([1.5]),
        json!([[]]),
        json!([["a"]]),
        json!([[1, 2]]),
        json!([null]),
        json!([true]),
        json!([4_294_967_296_u64]),
    ] {
        assert_eq!(ChangeSet::from_json(&json), Err(ChangeError::Malformed), "{json}");
    }
}

#[test]
fn a_change_for_another_length_is_refused() {
    let change = read(&json!([2, [0, "x"]]));
    assert_eq!(change.apply("a"), Err(ChangeError::Length { expected: 2, actual: 1 }));
    assert!(change.map(&read(&json!([3])), false).is_err());
    assert!(change.compose(&read(&json!([2]))).is_err());
}

#[test]
fn a_change_that_splits_a_character_is_refused() {
    assert_eq!(read(&json!([1, [1]])).apply("👋"), Err(ChangeError::SplitCharacter));
    assert_eq!(read(&json!([[2, "x"]])).apply("👋").unwrap(), "x");
}

fn any_text() -> impl Strategy<Value = String> {
    "[a-c\n👋ü]{0,12}"
}

proptest! {
    #[test]
    fn the_change_between_two_texts_makes_one_of_the_other(old in any_text(), new in any_text()) {
        let change = ChangeSet::between(&old, &new);
        prop_assert_eq!(change.old_length(), utf16_length(&old));
        prop_assert_eq!(change.apply(&old).unwrap(), &new[..]);
        prop_assert_eq!(change.is_empty(), old == new);
        let again = ChangeSet::from_json(&change.to_json().unwrap()).unwrap();
        prop_assert_eq!(again.apply(&old).unwrap(), new);
    }

    #[test]
    fn two_changes_of_one_text_converge(text in any_text(), a in any_text(), b in any_text()) {
        let (a, b) = (ChangeSet::between(&text, &a), ChangeSet::between(&text, &b));
        let left = b.map(&a, false).unwrap().apply(&a.apply(&text).unwrap());
        let right = a.map(&b, true).unwrap().apply(&b.apply(&text).unwrap());
        prop_assert_eq!(left.unwrap(), right.unwrap());
    }

    #[test]
    fn a_composed_change_is_both(text in any_text(), a in any_text(), b in any_text()) {
        let (first, next) = (ChangeSet::between(&text, &a), ChangeSet::between(&a, &b));
        prop_assert_eq!(first.compose(&next).unwrap().apply(&text).unwrap(), b);
    }

    #[test]
    fn any_sections_are_applied_or_refused(
        text in any_text(),
        parts in prop::collection::vec((0..4_u64, any::<bool>(), any_text()), 0..6),
    ) {
        let parts: Vec<_> = parts
            .into_iter()
            .map(|(length, keeps, text)| if keeps { json!(length) } else { json!([length, text]) })
            .collect();
        let change = ChangeSet::from_json(&Value::Array(parts)).unwrap();
        let applied = change.apply(&text);
        prop_assert!(applied.is_ok() || change.old_length() != utf16_length(&text)
            || applied == Err(ChangeError::SplitCharacter));
    }
}
