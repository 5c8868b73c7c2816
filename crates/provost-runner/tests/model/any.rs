//! Decoding arbitrary input neither panics nor hangs, and does not depend on chunk boundaries.

use crate::support::{WIRES, decode, files, short};
use proptest::collection::vec;
use proptest::prelude::*;
use provost_runner::model::ModelEvent;
use serde_json::{Map, Value, json};

/// Words of the formats, so that random input reaches the branches.
const WORDS: &[&str] = &[
    "type",
    "index",
    "delta",
    "choices",
    "message",
    "content",
    "content_block",
    "text",
    "thinking",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "id",
    "call_id",
    "input",
    "usage",
    "error",
    "candidates",
    "parts",
    "functionCall",
    "partialArgs",
    "jsonPath",
    "finishReason",
    "args",
    "output_index",
    "item",
    "response",
    "output",
    "sequence_number",
    "finish_reason",
    "reasoning",
    "reasoning_details",
    "reasoning_content",
    "stop_reason",
    "citation",
    "signature",
    "summary",
];

const VALUES: &[&str] = &[
    "",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "text_delta",
    "input_json_delta",
    "citations_delta",
    "tool_use",
    "thinking",
    "function_call",
    "reasoning",
    "message",
    "response.created",
    "response.completed",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "stop",
    "tool_calls",
    "STOP",
    "end_turn",
    "error",
    "$.a[3].b",
    "$[",
    "{\"a\":",
    "ü🙂",
    "1e999",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        (0_i64..4).prop_map(Value::from),
        proptest::sample::select(VALUES).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = proptest::sample::select(WORDS).prop_map(str::to_owned);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key, inner), 0..6).prop_map(|pairs| Value::from(Map::from_iter(pairs))),
        ]
    })
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let frame = |value: &Value| format!("data: {value}\n\n");
    vec(value(), 0..8).prop_map(move |values| values.iter().map(frame).collect::<String>().into())
}

/// A valid stream with some changed bytes.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let all: Vec<Vec<u8>> = WIRES
        .iter()
        .flat_map(|(folder, _)| files(&root.join(folder), ".sse"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (proptest::sample::select(all), changes).prop_map(|(mut stream, changes)| {
        for (place, byte) in changes {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        stream
    })
}

fn check(stream: &[u8], cut: prop::sample::Index) -> Result<(), TestCaseError> {
    for (_, wire) in WIRES {
        let (events, result) = decode(wire, [stream]);
        let ends = events.iter().filter(|event| matches!(event, ModelEvent::End { .. })).count();
        prop_assert_eq!(ends, usize::from(result.is_ok()), "an end or an error, never both");
        let (first, second) = stream.split_at(cut.index(stream.len() + 1));
        let (again, second_result) = decode(wire, [first, second]);
        prop_assert_eq!(short(&events, &result), short(&again, &second_result));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_json_is_read_without_a_panic(stream in stream(), cut: prop::sample::Index) {
        check(&stream, cut)?;
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(stream in vec(any::<u8>(), 0..300), cut: prop::sample::Index) {
        check(&stream, cut)?;
    }

    #[test]
    fn a_damaged_stream_is_read_without_a_panic(stream in damaged(), cut: prop::sample::Index) {
        check(&stream, cut)?;
    }
}
