//! Numbers that JSON readers do not agree about: the turn goes on, the log verifies, and the
//! provider gets back what it sent.

use provost_fake_model::{
    FakeCompletion, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use serde_json::json;

use super::{ALL, Home};

/// Arguments with a Snowflake id and a whole number that is written with a point.
const ARGUMENTS: &str = r#"{"path":"hello.txt","startLine":1.0,"id":1234567890123456789}"#;

/// A stream with one call of `fs_readFile`.
fn calling(format: FakeWireFormat) -> String {
    let quoted = json!(ARGUMENTS).to_string();
    let events = match format {
        FakeWireFormat::Responses => vec![
            format!(
                r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"function_call","id":"fc","call_id":"c1","name":"fs_readFile","arguments":{quoted}}}}}"#
            ),
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#.to_owned(),
        ],
        FakeWireFormat::Chat => vec![
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c1","function":{{"name":"fs_readFile","arguments":{quoted}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
            ),
            "[DONE]".to_owned(),
        ],
        FakeWireFormat::Messages => vec![
            r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}"#.to_owned(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"fs_readFile","input":{}}}"#.to_owned(),
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{quoted}}}}}"#
            ),
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ],
        FakeWireFormat::Gemini => vec![format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"fs_readFile","args":{ARGUMENTS}}}}}]}},"finishReason":"STOP"}}]}}"#
        )],
    };
    let lines: Vec<String> = events.into_iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_not_exact_ends_no_turn_and_the_log_verifies_on_every_wire() {
    for at in ALL {
        let home = Home::new();
        let replies = vec![
            FakeReply::raw_stream(calling(at.0), StreamEnding::Complete),
            FakeReply::Completion(FakeCompletion::from_text("Done.")),
        ];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let daemon = home.with_model(&model, at, "");
        let session = daemon.session(json!({})).await;
        daemon.send_message(&session, "Read").await;
        let detail = daemon.turn_end(&session, "finished").await;
        assert_eq!(super::texts(&detail), ["Read", "", "Done."], "{at:?}");
        let again = model.received_requests()[1].body.to_string();
        assert!(again.contains("1234567890123456789"), "{at:?}: {again}");
        assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"), "{at:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_action_api_refuses_a_number_that_is_not_exact_and_takes_a_whole_one() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(Vec::new()).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let read = |line: &str| {
        let params: serde_json::Value =
            serde_json::from_str(&format!(r#"{{"path":"hello.txt","startLine":{line}}}"#)).unwrap();
        json!({ "action": "fs.readFile", "params": params })
    };
    let path = "/api/projects/app/actions";
    let (status, body) = daemon.post(path, &daemon.token, &read("1.0")).await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = daemon.post(path, &daemon.token, &read("9007199254740993")).await;
    assert_eq!(status, 422, "{body}");
    assert_eq!(body["code"], "INVALID_ACTION", "{body}");
    assert!(body["error"].as_str().unwrap().contains("9007199254740993"), "{body}");
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}
