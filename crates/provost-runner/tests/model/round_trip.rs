//! The next request to the model that wrote a completion: it gets its own output back, by the
//! rules of its format.

use crate::support::{origin, turn};
use provost_runner::model::{
    CallId, ChatDialect, Completion, ModelMessage, ModelOrigin, ModelRequest, ModelToolResult,
    ModelToolResultStatus, StopReason, ToolDefinition, WireFormat,
};
use serde_json::{Value, json};

/// A stream with thoughts, text and two calls in each format.
pub(crate) fn spoken(wire: WireFormat) -> Completion {
    let stream: &[u8] = match wire {
        WireFormat::Responses => {
            include_bytes!("../streams/responses/reasoning-text-and-two-calls.sse")
        }
        WireFormat::Chat => include_bytes!("../streams/chat/two-calls-interleaved.sse"),
        WireFormat::Messages => include_bytes!("../streams/messages/thoughts-and-two-calls.sse"),
        WireFormat::Gemini => include_bytes!("../streams/gemini/two-calls.sse"),
    };
    turn(wire, stream)
}

pub(crate) fn result(
    call: &CallId,
    status: ModelToolResultStatus,
    output: &str,
) -> ModelToolResult {
    ModelToolResult { call: call.clone(), status, output: output.to_owned() }
}

/// A conversation in which the turn was answered, the second call first.
pub(crate) fn conversation(turn: Completion) -> Vec<ModelMessage> {
    let ids: Vec<CallId> = turn.tool_calls().map(|call| call.id.clone()).collect();
    let mut results = vec![
        result(&ids[1], ModelToolResultStatus::Denied, "not now"),
        result(&ids[0], ModelToolResultStatus::Ok, "content"),
    ];
    results.truncate(ids.len());
    let turn = Box::new(turn);
    vec![
        ModelMessage::user("Hi"),
        ModelMessage::Assistant { turn },
        ModelMessage::Results { results },
    ]
}

pub(crate) fn request(messages: Vec<ModelMessage>) -> ModelRequest {
    let mut request = ModelRequest::new("p/m", messages);
    request.instructions.push_str("Be kind.");
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    request.tools = vec![ToolDefinition::new("read", "Reads a file.", schema).unwrap()];
    request
}

pub(crate) fn body(wire: WireFormat, request: &ModelRequest, to: &ModelOrigin) -> Value {
    wire.encode(request, to, &ChatDialect::PLAIN).unwrap().body
}

/// The body of the next request to the model that spoke.
fn again(wire: WireFormat) -> (Completion, Value) {
    let turn = spoken(wire);
    let body = body(wire, &request(conversation(turn.clone())), &origin(wire));
    (turn, body)
}

#[test]
fn responses_get_each_item_back_whole_and_reasoning_before_its_call() {
    let (turn, body) = again(WireFormat::Responses);
    let input = body["input"].as_array().unwrap();
    let natives: Vec<_> = turn.items.iter().map(|item| item.native.clone().unwrap()).collect();
    assert_eq!(input[1..5], natives);
    let kinds: Vec<_> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    let expected = [
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (&input[1]["id"], &input[1]["encrypted_content"]),
        (&json!("rs_1"), &json!("gAAAAfinal"))
    );
    assert_eq!((&input[5]["call_id"], &input[5]["output"]), (&json!("call_1"), &json!("content")));
    assert_eq!((&input[6]["call_id"], &input[6]["output"]), (&json!("call_2"), &json!("not now")));
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["instructions"], "Be kind.");
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(body["tools"][0]["name"], "read");
}

#[test]
fn reasoning_of_which_nothing_is_left_is_not_sent_to_be_looked_up() {
    let mut turn = spoken(WireFormat::Responses);
    turn.items[0].native.as_mut().unwrap()["encrypted_content"] = Value::Null;
    let body =
        body(WireFormat::Responses, &request(conversation(turn)), &origin(WireFormat::Responses));
    let kinds: Vec<_> =
        body["input"].as_array().unwrap().iter().map(|i| i["type"].clone()).collect();
    assert!(!kinds.contains(&json!("reasoning")), "{kinds:?}");
}

#[test]
fn messages_get_thoughts_with_their_signatures_first_and_results_first() {
    let (turn, body) = again(WireFormat::Messages);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, [json!("user"), json!("assistant"), json!("user")]);
    let natives: Vec<_> = turn.items.iter().map(|item| item.native.clone().unwrap()).collect();
    assert_eq!(messages[1]["content"], json!(natives));
    assert_eq!(messages[1]["content"][0]["signature"], "EqQBsig==");
    assert_eq!(messages[1]["content"][1]["type"], "redacted_thinking");
    let expected = json!([
        { "type": "tool_result", "tool_use_id": "toolu_01", "content": "content", "is_error": false },
        {
            "type": "tool_result", "tool_use_id": "toolu_02", "content": "not now", "is_error": true,
            "cache_control": { "type": "ephemeral" },
        },
    ]);
    assert_eq!(messages[2]["content"], expected);
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert!(body["max_tokens"].as_u64().unwrap() > 1000);
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
}

#[test]
fn what_a_person_says_beside_results_comes_after_them_in_one_message() {
    let mut messages = conversation(spoken(WireFormat::Messages));
    messages.push(ModelMessage::user("And?"));
    messages.push(ModelMessage::user("  "));
    let body = body(WireFormat::Messages, &request(messages), &origin(WireFormat::Messages));
    let last = body["messages"][2]["content"].as_array().unwrap();
    let kinds: Vec<_> = last.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text", "text"]);
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert!(last.iter().all(|block| block["text"] != "  "), "an empty text is refused");
}

/// A turn that was cut off in a thought, or declined, and what is said next.
fn after(wire: WireFormat, stream: &str, change: impl Fn(&mut Completion)) -> Value {
    let mut turn = turn(wire, stream.as_bytes());
    change(&mut turn);
    let turn = Box::new(turn);
    let messages = vec![
        ModelMessage::user("Hello"),
        ModelMessage::Assistant { turn: Box::new(spoken_before(wire)) },
        ModelMessage::user("Hi"),
        ModelMessage::Assistant { turn },
        ModelMessage::user("Go on"),
    ];
    body(wire, &request(messages), &origin(wire))
}

/// An answer that is in order.
fn spoken_before(wire: WireFormat) -> Completion {
    let mut turn = spoken(wire);
    turn.items.retain(|item| item.text().is_some());
    turn.stop = StopReason::EndTurn;
    turn
}

#[test]
fn a_thought_that_was_cut_off_is_not_sent_back() {
    let cut = r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"gAAA"}}

data: {"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}

"#;
    let body = after(WireFormat::Responses, cut, |_| {});
    assert!(!body.to_string().contains("rs_9"), "nothing follows it: {body}");
    let cut = r#"data: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, hm"}}

data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":4}}

data: {"type":"message_stop"}

"#;
    let body = after(WireFormat::Messages, cut, |_| {});
    assert!(!body.to_string().contains("Hm, hm"), "it has no signature: {body}");
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn what_messages_declined_is_not_sent_again_with_what_asked_for_it() {
    let declined = include_str!("../streams/messages/declined.sse");
    let body = after(WireFormat::Messages, declined, |_| {});
    let text = body["messages"].to_string();
    assert!(text.contains("Hello") && text.contains("Go on"), "{text}");
    assert!(!text.contains("Hi") && !text.contains("Blocked"), "{text}");
    // What another provider's filter stopped is told.
    let filtered = |turn: &mut Completion| turn.stop = StopReason::ContentFilter;
    let body = after(WireFormat::Messages, declined, filtered);
    assert!(body["messages"].to_string().contains("Hi"));
}

#[test]
fn what_a_filter_says_is_not_put_into_the_models_mouth() {
    let filtered = include_str!("../streams/gemini/filtered.sse");
    let body = after(WireFormat::Gemini, filtered, |_| {});
    let contents = body["contents"].as_array().unwrap();
    assert!(contents.contains(&json!({ "role": "model", "parts": [{ "text": "A" }] })), "{body}");
}

#[test]
fn a_limit_is_never_smaller_than_responses_take() {
    for (most, sent) in [(1, 16), (16, 16), (500, 500)] {
        let request = ModelRequest {
            max_output_tokens: Some(most),
            ..request(vec![ModelMessage::user("Hi")])
        };
        let body = body(WireFormat::Responses, &request, &origin(WireFormat::Responses));
        assert_eq!(body["max_output_tokens"], sent, "{most}");
    }
}

#[test]
fn gemini_gets_the_signature_on_the_part_and_answers_by_the_ids_it_gave() {
    let (turn, body) = again(WireFormat::Gemini);
    let contents = body["contents"].as_array().unwrap();
    let natives: Vec<_> = turn.items.iter().map(|item| item.native.clone().unwrap()).collect();
    assert_eq!(contents[1], json!({ "role": "model", "parts": natives }));
    assert_eq!(contents[1]["parts"][0]["thoughtSignature"], "Epw=");
    let expected = json!({ "role": "user", "parts": [
        { "functionResponse": { "name": "read", "response": { "output": "content" } } },
        { "functionResponse": { "name": "now", "id": "fc2", "response": { "error": "not now" } } },
    ] });
    assert_eq!(contents[2], expected);
    assert_eq!(body["systemInstruction"]["parts"][0]["text"], "Be kind.");
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "read");
}

#[test]
fn chat_completions_get_one_message_per_result_directly_after_the_calls() {
    let (turn, body) = again(WireFormat::Chat);
    let messages = body["messages"].as_array().unwrap();
    let natives: Vec<_> = turn.items.iter().map(|item| item.native.clone().unwrap()).collect();
    let expected = json!([
        { "role": "system", "content": "Be kind." },
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": null, "tool_calls": natives },
        { "role": "tool", "tool_call_id": "call_a", "content": "content" },
        { "role": "tool", "tool_call_id": "call_b", "content": "not now" },
    ]);
    assert_eq!(json!(messages), expected);
    assert_eq!(body["stream_options"], json!({ "include_usage": true }));
}

#[test]
fn reasoning_goes_back_under_the_name_under_which_it_came() {
    for (stream, expected) in [
        (
            &include_bytes!("../streams/chat/reasoning-content.sse")[..],
            json!({ "role": "assistant", "content": "Yes", "reasoning_content": "Hm…" }),
        ),
        (
            &include_bytes!("../streams/chat/reasoning-details.sse")[..],
            json!({
                "role": "assistant", "content": "Ok", "reasoning": "Let me",
                "reasoning_details": [
                    {
                        "type": "reasoning.text", "text": "Let me", "signature": "sig==",
                        "format": "anthropic-claude-v1", "index": 0,
                    },
                    { "type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "index": 1 },
                ],
            }),
        ),
        (
            &include_bytes!("../streams/chat/thoughts-as-parts.sse")[..],
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": [{ "type": "text", "text": "So be it" }] },
                { "type": "text", "text": "Done" },
            ] }),
        ),
    ] {
        let turn = Box::new(turn(WireFormat::Chat, stream));
        let messages = vec![
            ModelMessage::user("Hi"),
            ModelMessage::Assistant { turn },
            ModelMessage::user("Go on"),
        ];
        let body = body(WireFormat::Chat, &request(messages), &origin(WireFormat::Chat));
        assert_eq!(body["messages"][2], expected);
    }
}
