//! Whatever JSON a provider sends as arguments: it is kept as its text, stored, and sent back as
//! it came.

use crate::round_trip::{request, result};
use crate::support::{WIRES, origin, turn};
use provost_core::{canonical, exact_json};
use provost_runner::model::{
    ChatDialect, Completion, ModelMessage, ModelToolResultStatus, WireFormat,
};
use serde_json::{Value, json};

/// Arguments that a `Value` or canonical JSON would change.
const ARGUMENTS: [&str; 8] = [
    r#"{"id":1234567890123456789}"#,
    r#"{"startLine":1.0,"path":"a"}"#,
    r#"{"big":123456789012345678901234567890,"tiny":1e-400,"huge":1e400}"#,
    r#"{"zero":-0,"exp":1e2}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"text":"\ud83d and \ude00"}"#,
    r#"{ "spaced" : [ 1.50 ] }"#,
    r#"{"$json":"1.0"}"#,
];

fn events(list: &[String]) -> String {
    let lines: Vec<String> = list.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.concat()
}

/// A stream with one call. Where the format has arguments as an object, they are one.
fn stream(wire: WireFormat, arguments: &str) -> String {
    let quoted = json!(arguments).to_string();
    match wire {
        WireFormat::Responses => {
            let item = format!(
                r#"{{"type":"function_call","id":"fc","call_id":"c","name":"read","arguments":{quoted}}}"#
            );
            events(&[
                format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#.to_owned(),
            ])
        }
        WireFormat::Chat => {
            let call = |arguments: &str| {
                format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"read","arguments":{arguments}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
                )
            };
            events(&[call(arguments), "[DONE]".to_owned()])
        }
        WireFormat::Messages => events(&[
            r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}"#.to_owned(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"read","input":{}}}"#.to_owned(),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{quoted}}}}}"#),
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ]),
        WireFormat::Gemini => events(&[format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"read","args":{arguments}}}}}]}},"finishReason":"STOP"}}]}}"#
        )]),
    }
}

/// The completion as the log gives it back.
fn stored(turn: &Completion) -> Completion {
    let text = canonical::to_vec(&serde_json::to_value(turn).unwrap()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The text of the next request.
fn next_request(wire: WireFormat, turn: Completion) -> String {
    let call = turn.tool_calls().next().unwrap().id.clone();
    let results = vec![result(&call, ModelToolResultStatus::Ok, "done")];
    let turn = Box::new(turn);
    let messages = vec![
        ModelMessage::user("Hi"),
        ModelMessage::Assistant { turn },
        ModelMessage::Results { results },
    ];
    let encoded = wire.encode(&request(messages), &origin(wire), &ChatDialect::PLAIN).unwrap();
    exact_json::to_text(&encoded.body)
}

#[test]
fn arguments_are_kept_and_sent_back_as_they_came_on_every_wire() {
    for (name, wire) in WIRES {
        for arguments in ARGUMENTS {
            let turn = turn(wire, stream(wire, arguments).as_bytes());
            let calls: Vec<_> = turn.tool_calls().collect();
            assert_eq!(calls.len(), 1, "{name}");
            assert_eq!(calls[0].arguments, arguments, "{name}");
            let again = stored(&turn);
            assert_eq!(again, turn, "{name} {arguments}");
            let body = next_request(wire, again);
            let compact = |text: &str| text.replace(' ', "");
            let quoted = json!(arguments).to_string();
            let sent = match wire {
                WireFormat::Responses | WireFormat::Chat => body.contains(&quoted),
                WireFormat::Messages | WireFormat::Gemini => {
                    let sorted = exact_json::to_text(&exact_json::parse(arguments).unwrap());
                    compact(&body).contains(&compact(arguments)) || body.contains(&sorted)
                }
            };
            assert!(sent, "{name}: {arguments} is not in {body}");
        }
    }
}

#[test]
fn arguments_of_any_depth_break_nothing() {
    let deep = format!(r#"{{"a":{}1.0{}}}"#, "[".repeat(3000), "]".repeat(3000));
    for (name, wire) in WIRES {
        let turn = turn(wire, stream(wire, &deep).as_bytes());
        assert_eq!(turn.tool_calls().next().unwrap().arguments, deep, "{name}");
        let again = stored(&turn);
        assert_eq!(again, turn, "{name}");
        assert!(next_request(wire, again).contains(&"[".repeat(3000)), "{name}");
    }
}

#[test]
fn a_lone_surrogate_in_the_text_and_a_count_with_a_point_end_no_turn() {
    let stream = events(&[
        r#"{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":3,"cost":1.0}}"#.to_owned(),
        "[DONE]".to_owned(),
    ]);
    let turn = turn(WireFormat::Chat, stream.as_bytes());
    assert_eq!(turn.text(), "a\u{fffd}b");
    assert_eq!((turn.usage.input, turn.usage.output), (12, 3));
    assert_eq!(turn.usage.reported_usd, Some(1.0));
    assert_eq!(stored(&turn), turn);
    let native: Value = turn.native_usage.clone().unwrap();
    assert_eq!(
        exact_json::to_text(&native),
        r#"{"completion_tokens":3,"cost":1.0,"prompt_tokens":12.0}"#
    );
}
