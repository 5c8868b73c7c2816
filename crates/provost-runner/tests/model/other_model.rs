//! Requests to another model than the one that wrote a completion, and invalid requests.

use provost_runner::model::{
    CallId, CallIdFormat, ChatDialect, Completion, ModelMessage, ModelOrigin,
    ModelToolResultStatus, ReasoningEffort, ThinkingConfig, ToolChoice, ToolDefinition, WireFormat,
};
use serde_json::{Value, json};

use crate::round_trip::{body, conversation, request, result, spoken};
use crate::support::{WIRES, origin, turn};

/// Whether something of the native form of a turn is in a body.
fn leaks(body: &Value) -> Option<&'static str> {
    let text = body.to_string();
    let marks = [
        "gAAAA",
        "EqQB",
        "EmwK",
        "Epw",
        "sig==",
        "redacted_thinking",
        "reasoning_content",
        "Two cities",
        "**Plan**",
    ];
    marks.into_iter().find(|mark| text.contains(mark))
}

#[test]
fn another_model_gets_the_neutral_form_and_no_reasoning() {
    for (_, from) in WIRES {
        for (_, to) in WIRES {
            let mut other = origin(to);
            other.model = "another".to_owned();
            let body = body(to, &request(conversation(spoken(from))), &other);
            assert_eq!(leaks(&body), None, "{from:?} to {to:?}: {body}");
            let text = body.to_string();
            for part in ["content", "not now", "\"Hi\""] {
                assert!(text.contains(part), "{from:?} to {to:?} lacks {part}: {body}");
            }
            assert!(text.contains("\\\"path\\\":") || text.contains("\"path\":"), "{body}");
        }
    }
}

#[test]
fn gemini_gets_foreign_calls_with_the_signature_that_it_documents_for_them() {
    let mut to = origin(WireFormat::Gemini);
    let foreign = request(conversation(spoken(WireFormat::Messages)));
    let body_of = |to: &ModelOrigin| body(WireFormat::Gemini, &foreign, to);
    let parts = body_of(&to)["contents"][1]["parts"].clone();
    assert_eq!(parts[1]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(parts[2]["thoughtSignature"], Value::Null, "only the first carries one");
    to.model = "gemini-2.5-pro".to_owned();
    assert_eq!(body_of(&to)["contents"][1]["parts"][1]["thoughtSignature"], Value::Null);
}

#[test]
fn ids_that_a_server_does_not_take_are_replaced_in_call_and_result_alike() {
    let dialect = ChatDialect { ids: CallIdFormat::NineAlphanumeric, ..ChatDialect::PLAIN };
    let request = request(conversation(spoken(WireFormat::Messages)));
    let body = WireFormat::Chat.encode(&request, &origin(WireFormat::Chat), &dialect).unwrap().body;
    let messages = &body["messages"];
    for n in [0, 1] {
        let id = messages[2]["tool_calls"][n]["id"].as_str().unwrap();
        assert!(id.len() == 9 && id.chars().all(char::is_alphanumeric), "{id}");
        assert_eq!(messages[3 + n]["tool_call_id"], id);
    }
    assert_ne!(messages[3]["tool_call_id"], messages[4]["tool_call_id"]);
}

#[test]
fn a_server_that_wants_thoughts_with_every_call_gets_empty_ones() {
    let dialect = ChatDialect { needs_reasoning: true, ..ChatDialect::PLAIN };
    let request = request(conversation(spoken(WireFormat::Messages)));
    let body = WireFormat::Chat.encode(&request, &origin(WireFormat::Chat), &dialect).unwrap().body;
    assert_eq!(body["messages"][2]["reasoning_content"], "");
}

#[test]
fn a_call_without_a_result_is_told_to_have_been_interrupted() {
    for (_, wire) in WIRES {
        let mut messages = conversation(spoken(wire));
        messages.pop();
        messages.push(ModelMessage::user("Are you there?"));
        let text = body(wire, &request(messages), &origin(wire)).to_string();
        assert_eq!(
            text.matches("interrupted before the call ended").count(),
            2,
            "{wire:?}: {text}"
        );
    }
}

#[test]
fn arguments_that_broke_off_are_sent_as_none() {
    let stream = include_bytes!("../streams/messages/too-long-in-a-call.sse");
    let turn = turn(WireFormat::Messages, stream);
    assert!(turn.tool_calls().next().unwrap().parse_arguments().is_err());
    for (_, to) in WIRES {
        let turn = Box::new(turn.clone());
        let messages = vec![ModelMessage::user("Hi"), ModelMessage::Assistant { turn }];
        let text = body(to, &request(messages), &origin(to)).to_string();
        assert!(!text.contains("{\\\"path"), "{to:?}: {text}");
    }
}

#[test]
fn results_that_belong_to_nothing_cannot_be_sent() {
    let stray = ModelMessage::Results {
        results: vec![result(&CallId::new("x"), ModelToolResultStatus::Ok, "")],
    };
    let turn = Box::new(spoken(WireFormat::Chat));
    for messages in [
        vec![],
        vec![ModelMessage::user("Hi"), stray.clone()],
        vec![ModelMessage::user("Hi"), ModelMessage::Assistant { turn: turn.clone() }, stray],
        vec![ModelMessage::Assistant { turn }],
    ] {
        for (_, wire) in WIRES {
            let encoded =
                wire.encode(&request(messages.clone()), &origin(wire), &ChatDialect::PLAIN);
            assert_eq!(crate::support::kind(&encoded.unwrap_err()), "Unsendable", "{messages:?}");
        }
    }
}

#[test]
fn thinking_is_asked_for_in_the_words_of_each_model() {
    let ask = |wire: WireFormat, model: &str| {
        let mut request = request(vec![ModelMessage::user("Hi")]);
        request.thinking = Some(ThinkingConfig { effort: ReasoningEffort::High, summary: true });
        request.max_output_tokens = Some(10_000);
        request.tool_choice = ToolChoice::None;
        let to = ModelOrigin { model: model.to_owned(), ..origin(wire) };
        body(wire, &request, &to)
    };
    let body = ask(WireFormat::Messages, "claude-sonnet-5");
    assert_eq!(body["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(body["output_config"], json!({ "effort": "high" }));
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
    let body = ask(WireFormat::Messages, "claude-sonnet-4-5-20250929");
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 5000 }));
    let body = ask(WireFormat::Responses, "gpt-5");
    assert_eq!(body["reasoning"], json!({ "effort": "high", "summary": "auto" }));
    let body = ask(WireFormat::Responses, "gpt-4.1");
    assert_eq!((&body["reasoning"], &body["include"]), (&Value::Null, &Value::Null));
    let body = ask(WireFormat::Gemini, "gemini-3-pro-preview");
    let thinking = &body["generationConfig"]["thinkingConfig"];
    assert_eq!(*thinking, json!({ "thinkingLevel": "high", "includeThoughts": true }));
    assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "NONE");
    let body = ask(WireFormat::Gemini, "gemini-2.5-pro");
    assert_eq!(body["generationConfig"]["thinkingConfig"]["thinkingBudget"], 24_576);
}

#[test]
fn thinking_by_budget_is_not_asked_of_a_turn_that_began_without() {
    let mut request = request(conversation(spoken(WireFormat::Chat)));
    request.thinking = Some(ThinkingConfig { effort: ReasoningEffort::Low, summary: false });
    let to = |model: &str| ModelOrigin { model: model.to_owned(), ..origin(WireFormat::Messages) };
    let old = to("claude-opus-4-5");
    assert_eq!(body(WireFormat::Messages, &request, &old)["thinking"], Value::Null);
    assert!(body(WireFormat::Messages, &request, &to("claude-sonnet-5"))["thinking"].is_object());
    request.messages.push(ModelMessage::user("Next"));
    assert!(body(WireFormat::Messages, &request, &old)["thinking"].is_object());
}

#[test]
fn names_of_tools_that_a_provider_would_refuse_are_refused_here() {
    for (name, fits) in [
        ("fs_read", true),
        ("_x-1", true),
        ("fs.read", false),
        ("1x", false),
        ("", false),
        ("ü", false),
    ] {
        assert_eq!(ToolDefinition::new(name, "", json!({})).is_ok(), fits, "{name}");
    }
    assert!(ToolDefinition::new("x".repeat(65), "", json!({})).is_err());
    assert!(ToolDefinition::new("x", "", json!([])).is_err());
}

#[test]
fn a_turn_outlives_the_log() {
    for (_, wire) in WIRES {
        let turn = spoken(wire);
        let text = serde_json::to_string(&turn).unwrap();
        assert_eq!(serde_json::from_str::<Completion>(&text).unwrap(), turn);
    }
}
