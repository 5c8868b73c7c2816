//! What is redacted, however the input is split.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const VALUE: &str = "sk-4f\"9a?b+c/d7e8";

fn redactor() -> Redactor {
    Redactor::new(&Secrets::default().with_secret("API_KEY", VALUE)).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(redactor().redact_text(text), expected, "{text}");
}

#[test]
fn a_value_becomes_the_name_of_its_variable() {
    check("nothing here", "nothing here");
    check(&format!("a {VALUE} b"), "a [redacted: API_KEY] b");
    check(&format!("{VALUE}{VALUE}"), "[redacted: API_KEY][redacted: API_KEY]");
    check(&format!("ä{VALUE}日"), "ä[redacted: API_KEY]日");
    check(&VALUE[1..], &VALUE[1..]);
}

#[test]
fn its_usual_forms_are_found_too() {
    check(&format!("k={}", json!(VALUE)), "k=\"[redacted: API_KEY]\"");
    check("q=sk-4f%229a%3Fb%2Bc%2Fd7e8&r", "q=[redacted: API_KEY]&r");
    check("q=sk-4f%229a%3fb%2bc%2fd7e8&r", "q=[redacted: API_KEY]&r");
}

#[test]
fn base64_is_found_wherever_the_value_lies_in_what_was_encoded() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    for before in ["", "x", "xy", "user:", "{\"key\":\""] {
        for after in ["", "\n", "ab", "\"}\n"] {
            let whole = format!("{before}{VALUE}{after}");
            for text in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
                let redacted = redactor().redact_text(&text).into_owned();
                assert!(redacted.contains("[redacted: API_KEY]"), "{whole}: {redacted}");
                let digits = redacted.len() - "[redacted: API_KEY]".len();
                assert!(digits <= (before.len() + after.len()).div_ceil(3) * 4 + 4, "{redacted}");
            }
        }
    }
}

#[test]
fn our_own_tokens_are_found_by_their_shape() {
    let digits = "0123456789abcdef".repeat(4);
    for class in ["operator", "agent", "runtime", "viewer"] {
        check(
            &format!("({class}) provost_{class}_{digits}!"),
            &format!("({class}) {}!", token::TOKEN_MARK),
        );
    }
    for text in ["provost_agent_", "provost_agent_0123", &format!("provost_other_{digits}")] {
        check(text, text);
    }
    let upper = format!("provost_agent_{}", digits.to_uppercase());
    check(&upper, &upper);
}

#[test]
fn matches_that_overlap_leave_no_rest() {
    let patterns = [(b"abcdef".to_vec(), "ONE"), (b"defghi".to_vec(), "TWO")];
    let redactor = Redactor::from_patterns(patterns).unwrap();
    assert_eq!(redactor.redact_text("-abcdefghi-"), "-[redacted: ONE]-");
    assert_eq!(redactor.redact_text("-defghi-abcdef"), "-[redacted: TWO]-[redacted: ONE]");
    let redactor =
        Redactor::from_patterns([(b"abc".to_vec(), "SHORT"), (b"abcdef".to_vec(), "LONG")])
            .unwrap();
    assert_eq!(redactor.redact_text("abcdef abc"), "[redacted: LONG] [redacted: SHORT]");
}

#[test]
fn every_text_of_a_value_is_looked_at() {
    let mut value =
        json!({ "a": [VALUE, 1, null], VALUE: { "b": format!("<{VALUE}>") }, "c": "d" });
    assert_eq!(redactor().redact_json(&mut value), 3);
    let mark = "[redacted: API_KEY]";
    assert_eq!(
        value,
        json!({ "a": [mark, 1, null], mark: { "b": format!("<{mark}>") }, "c": "d" })
    );
    assert_eq!(redactor().redact_json(&mut value), 0, "a mark is no secret");
}

#[test]
fn a_stream_holds_back_no_more_than_what_may_be_a_secret() {
    let mut stream = StreamRedactor::new(Arc::new(redactor()));
    let mut out = Vec::new();
    for (piece, expected) in [
        ("hello ", "hello "),
        ("sk-", ""),
        ("other ", "sk-other "),
        ("s", ""),
        (&VALUE[1..9], ""),
        (&VALUE[9..], "[redacted: API_KEY]"),
        ("provost_agent_12", ""),
        ("x", "provost_agent_12x"),
        ("sk-4", ""),
    ] {
        out.clear();
        stream.push(piece.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "after {piece}");
    }
    out.clear();
    stream.finish(&mut out);
    assert_eq!(out, b"sk-4", "the end was the beginning of none");
}

#[test]
fn a_prompt_stream_waits_only_for_what_tells_something_of_a_secret() {
    let mut stream = StreamRedactor::prompt(Arc::new(redactor()));
    let mut out = Vec::new();
    for (piece, expected) in [
        ("hello s", "hello s"),
        ("k-", "k-"),
        ("other provost", "other provost"),
        ("_agent_", "_agent_"),
        ("12", ""),
        ("x s", "12x s"),
        (&VALUE[1..3], &VALUE[1..3]),
        (&VALUE[3..9], ""),
        (&VALUE[9..], "[redacted: API_KEY]"),
        (&VALUE[..6], ""),
    ] {
        out.clear();
        stream.push(piece.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "after {piece}");
    }
    out.clear();
    stream.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), VALUE[..6], "the end was the beginning of none");
}

/// Few letters, so that secrets overlap, repeat and begin within each other.
fn letters(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"abc".as_slice()), size)
}

proptest! {
    #[test]
    fn a_stream_is_redacted_as_if_it_were_whole_however_it_is_cut(
        secrets in prop::collection::vec(letters(1..7), 0..5),
        pieces in prop::collection::vec(letters(0..9), 0..12),
    ) {
        let names = ["ONE", "TWO", "THREE", "FOUR", "FIVE"];
        let redactor = Arc::new(Redactor::from_patterns(secrets.iter().cloned().zip(names)).unwrap());
        let whole = pieces.concat();
        let mut stream = StreamRedactor::new(Arc::clone(&redactor));
        let mut out = Vec::new();
        for piece in &pieces {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        let expected = redactor.redact_bytes(&whole).into_owned();
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
        // The marks are written in other letters, so that what is left can be told from them.
        let rest = names.iter().fold(String::from_utf8_lossy(&out).into_owned(), |rest, name| {
            rest.replace(&format!("[redacted: {name}]"), "|")
        });
        let left = secrets.iter().any(|secret| rest.contains(&*String::from_utf8_lossy(secret)));
        prop_assert!(!left, "{}", rest);
    }

    #[test]
    fn a_prompt_stream_never_writes_a_secret_and_loses_nothing_else(
        secrets in prop::collection::vec(letters(4..9), 0..5),
        pieces in prop::collection::vec(letters(0..9), 0..12),
    ) {
        let names = ["ONE", "TWO", "THREE", "FOUR", "FIVE"];
        let redactor = Arc::new(Redactor::from_patterns(secrets.iter().cloned().zip(names)).unwrap());
        let mut stream = StreamRedactor::prompt(Arc::clone(&redactor));
        let mut out = Vec::new();
        for piece in &pieces {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        let unmarked = |text: &[u8]| names.iter().fold(
            String::from_utf8_lossy(text).into_owned(),
            |rest, name| rest.replace(&format!("[redacted: {name}]"), "|"),
        );
        let (rest, whole) = (unmarked(&out), unmarked(&redactor.redact_bytes(&pieces.concat())));
        let left = secrets.iter().any(|secret| rest.contains(&*String::from_utf8_lossy(secret)));
        prop_assert!(!left, "{}", rest);
        // Only the first bytes of a secret stand before its mark.
        let (shown, expected): (Vec<_>, Vec<_>) =
            (rest.split('|').collect(), whole.split('|').collect());
        prop_assert_eq!(shown.len(), expected.len());
        for (shown, expected) in shown.iter().zip(expected) {
            prop_assert!(shown.starts_with(expected), "{} for {}", rest, whole);
            prop_assert!(shown.len() - expected.len() < TELLING_BYTES, "{} for {}", rest, whole);
        }
    }

    #[test]
    fn pieces_are_redacted_as_if_they_were_one(
        secrets in prop::collection::vec(letters(1..7), 0..5),
        pieces in prop::collection::vec(letters(0..9), 0..12),
    ) {
        let names = ["ONE", "TWO", "THREE", "FOUR", "FIVE"];
        let redactor = Redactor::from_patterns(secrets.iter().cloned().zip(names)).unwrap();
        let whole = pieces.concat();
        let mut end = 0;
        let cuts: Vec<_> = pieces.iter().map(|piece| { end += piece.len(); end }).collect();
        let (out, n_marks) = redactor.redact_pieces(&whole, &cuts);
        prop_assert_eq!(out.len(), pieces.len());
        let (expected, out) = (redactor.redact_bytes(&whole), out.concat());
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
        prop_assert_eq!(n_marks, redactor.try_redact(&whole).map_or(0, |(_, n_marks)| n_marks));
    }

    #[test]
    fn a_token_is_found_wherever_its_stream_is_cut(cuts in prop::collection::vec(0..120_usize, 0..6)) {
        let text = format!("a provost_agent_{} b {VALUE} c", "0a1b2c3d".repeat(8));
        let redactor = Arc::new(redactor());
        let mut stream = StreamRedactor::new(Arc::clone(&redactor));
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let (mut out, mut from) = (Vec::new(), 0);
        for cut in cuts.into_iter().chain([text.len()]) {
            stream.push(&text.as_bytes()[from..cut], &mut out);
            from = cut;
        }
        stream.finish(&mut out);
        prop_assert_eq!(String::from_utf8_lossy(&out), format!("a {} b [redacted: API_KEY] c", token::TOKEN_MARK));
    }
}
