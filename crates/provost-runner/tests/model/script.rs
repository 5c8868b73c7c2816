//! Models that are scripts.

use futures::StreamExt;
use provost_runner::model::{
    Completion, ModelClient, ModelEvent, ModelMessage, ModelRequest, ModelScript, ModelToolResult,
    ModelToolResultStatus, StopReason,
};
use serde_json::json;

use crate::faults::left;
use crate::models::{models, registry};

const SCRIPT: &str = r#"
title = "A test"
[[beat]]
think = "A greeting."
say = "Hello. May I?"
call = [{ tool = "fs_read", arguments = { path = "a", n = 2 } }, { tool = "now" }]
denied = "sorry"
error = "broken"
[[beat]]
say = "Thanks."
[[beat]]
say = "Bye."
next = "end"
[[beat]]
name = "sorry"
say = "As you like."
next = "end"
[[beat]]
name = "broken"
say = "It broke."
[[beat]]
name = "end"
say = "The end."
"#;

async fn play(models: &ModelClient, request: &ModelRequest) -> Completion {
    let events: Vec<_> =
        models.stream_completion(request).unwrap().map(Result::unwrap).collect().await;
    let Some(ModelEvent::End { turn }) = events.last().cloned() else { panic!("{events:?}") };
    let text = left(&events);
    assert_eq!(text, turn.text());
    *turn
}

#[tokio::test]
async fn a_script_goes_where_the_results_lead() {
    let script = ModelScript::parse(SCRIPT).unwrap();
    let models = models(registry("", &[]).unwrap().with_script("test", script));
    assert_eq!(models.registry().script_model_names().collect::<Vec<_>>(), ["script/test"]);
    for (status, expected) in [
        (ModelToolResultStatus::Ok, vec!["Thanks.", "Bye.", "The end."]),
        (ModelToolResultStatus::Denied, vec!["As you like.", "The end."]),
        (ModelToolResultStatus::Error, vec!["It broke.", "The end."]),
    ] {
        let mut request = ModelRequest::new("script/test", vec![ModelMessage::user("Hi")]);
        let first = play(&models, &request).await;
        assert_eq!(first, play(&models, &request).await, "the same each time");
        assert_eq!(first.stop, StopReason::ToolUse);
        let calls: Vec<_> =
            first.tool_calls().map(|call| call.parse_arguments().unwrap()).collect();
        assert_eq!(json!(calls), json!([{ "path": "a", "n": 2 }, {}]));
        let call = first.tool_calls().next().unwrap().id.clone();
        let results = vec![ModelToolResult { call, status, output: String::new() }];
        request.messages.push(ModelMessage::Assistant { turn: Box::new(first) });
        request.messages.push(ModelMessage::Results { results });
        for text in expected {
            let turn = play(&models, &request).await;
            assert_eq!((turn.text().as_str(), &turn.stop), (text, &StopReason::EndTurn));
            request.messages.push(ModelMessage::Assistant { turn: Box::new(turn) });
            request.messages.push(ModelMessage::user("Go on"));
        }
        let over = play(&models, &request).await.text();
        assert!(over.starts_with("The script is over"), "{over}");
    }
}

#[test]
fn a_script_whose_ways_lead_nowhere_is_refused() {
    for (script, expected) in [
        ("title = 'x'\n[[beat]]\nsay = 'a'\nnext = 'b'", "the script refers to the beat `b`"),
        (
            "title = 'x'\n[[beat]]\nname = 'a'\nsay = 'a'\n[[beat]]\nname = 'a'\nsay = 'b'",
            "two beats",
        ),
        ("title = 'x'\n[[beat]]\nname = 'a'", "beat 1 has neither `think`"),
        ("title = 'x'\n[[beat]]\nsays = 'a'", "unknown field `says`"),
        ("", "missing field `title`"),
    ] {
        let error = ModelScript::parse(script).unwrap_err().to_string();
        assert!(error.contains(expected), "{script}: {error}");
    }
}
