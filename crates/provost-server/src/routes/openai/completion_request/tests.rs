//! Which requests are accepted, and which fields are rejected.

use axum::response::IntoResponse as _;
use serde_json::json;

use super::*;

fn read(more: &Value) -> Result<ValidatedCompletionRequest, OpenAiError> {
    let mut body = json!({ "model": "role/dev", "messages": [{ "role": "user", "content": "x" }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value::<ChatCompletionRequest>(body).unwrap().validate()
}

/// The error response: its status and its `error` object.
async fn rejection(more: &Value) -> (u16, Value) {
    let response =
        read(more).err().unwrap_or_else(|| panic!("{more} was accepted")).into_response();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    (status, serde_json::from_slice::<Value>(&body).unwrap()["error"].clone())
}

#[tokio::test]
async fn a_field_that_cannot_be_honored_is_rejected_by_name() {
    for (field, value) in [
        ("n", json!(2)),
        ("tools", json!([{ "type": "function", "function": { "name": "f" } }])),
        ("functions", json!([{ "name": "f" }])),
        ("tool_choice", json!("none")),
        ("tool_choice", json!({ "type": "function", "function": { "name": "f" } })),
        ("function_call", json!({ "name": "f" })),
        ("parallel_tool_calls", json!(false)),
        ("response_format", json!({ "type": "json_object" })),
        ("response_format", json!({ "type": "json_schema", "json_schema": {} })),
        ("modalities", json!(["text", "audio"])),
        ("audio", json!({ "voice": "x", "format": "wav" })),
        ("stop", json!("END")),
        ("stop", json!(["a", "b"])),
        ("temperature", json!(0)),
        ("temperature", json!(0.7)),
        ("top_p", json!(0.1)),
        ("presence_penalty", json!(1)),
        ("frequency_penalty", json!(-1.5)),
        ("logit_bias", json!({ "50256": -100 })),
        ("seed", json!(7)),
        ("reasoning_effort", json!("high")),
        ("verbosity", json!("low")),
        ("prediction", json!({ "type": "content", "content": "x" })),
        ("service_tier", json!("flex")),
        ("web_search_options", json!({})),
        ("logprobs", json!(true)),
        ("top_logprobs", json!(3)),
        ("store", json!(true)),
        ("top_k", json!(40)),
        ("max_tokens", json!(0)),
        ("max_tokens", json!("many")),
        ("max_completion_tokens", json!(1.5)),
        ("stream", json!("yes")),
        ("stream_options", json!(true)),
    ] {
        let (status, error) = rejection(&json!({ field: value })).await;
        assert_eq!((status, &error["param"]), (422, &json!(field)), "{field}: {value}");
        assert_eq!(error["type"], "invalid_request_error", "{field}");
        assert_eq!(error["code"], "INVALID_REQUEST", "{field}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(field) && message.len() > field.len() + 40, "{message}");
    }
    let both = rejection(&json!({ "max_tokens": 5, "max_completion_tokens": 6 })).await;
    assert_eq!(both.1["param"], "max_tokens");
    let option = rejection(&json!({ "stream_options": { "x": 1 } })).await;
    assert_eq!(option.1["param"], "stream_options.x");
}

#[tokio::test]
async fn content_other_than_text_is_rejected_by_its_path() {
    for (message, field) in [
        (json!({ "role": "tool", "content": "x" }), "messages[0].role"),
        (json!({ "role": "assistant", "tool_calls": [{ "id": "a" }] }), "messages[0].tool_calls"),
        (json!({ "role": "user", "content": { "a": 1 } }), "messages[0].content"),
        (
            json!({ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }),
            "messages[0].content",
        ),
    ] {
        let body = json!({ "messages": [message, { "role": "user", "content": "x" }] });
        assert_eq!(rejection(&body).await.1["param"], field);
    }
}

#[test]
fn fields_without_effect_are_accepted_and_limits_are_parsed() {
    let parts = json!([{ "role": "system", "content": "Be short." }, { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }]);
    for (more, max_tokens, stream) in [
        (json!({}), None, false),
        (json!({ "n": 1, "temperature": 1.0, "top_p": 1, "stop": null, "tools": [] }), None, false),
        (json!({ "user": "ann", "metadata": { "a": "b" }, "store": false }), None, false),
        (json!({ "response_format": { "type": "text" }, "tool_choice": "auto" }), None, false),
        (json!({ "max_tokens": 64, "stream": true }), Some(64), true),
        (json!({ "max_tokens": 64, "max_completion_tokens": 64 }), Some(64), false),
        (json!({ "messages": parts, "max_completion_tokens": 1 }), Some(1), false),
    ] {
        let request = read(&more).unwrap_or_else(|error| panic!("{more}: {error:?}"));
        assert_eq!((request.max_output_tokens, request.stream), (max_tokens, stream), "{more}");
    }
    let request = read(&json!({ "messages": parts, "stream_options": { "include_usage": true } }));
    let request = request.unwrap();
    assert!(request.include_usage);
    let whole = "What was said before:\n\n[system]\nBe short.\n\n[user]\nab";
    assert_eq!(request.format_transcript().unwrap(), whole);
    assert_eq!(request.last_user_text().unwrap(), "ab");
}
