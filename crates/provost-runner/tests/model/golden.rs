//! Golden files: what a model answered, as it is stored, and the keys of the files that are read.

use std::fmt::{Debug, Write as _};

use expect_test::{expect, expect_file};
use provost_runner::model::{
    CallId, Completion, CompletionContent, CompletionItem, CompletionUsage, ModelInfo, ModelOrigin,
    ModelPrice, ModelScript, PriceTable, ProviderConfig, StopReason, ToolCall, WireFormat,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

fn add<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &mut String, value: &T) {
    let line = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&line).unwrap(), value);
    writeln!(text, "{line}").unwrap();
}

/// Every reason; a new one does not compile here.
fn stops() -> Vec<StopReason> {
    let next = |stop: &StopReason| match stop {
        StopReason::EndTurn => Some(StopReason::ToolUse),
        StopReason::ToolUse => Some(StopReason::MaxTokens),
        StopReason::MaxTokens => Some(StopReason::ContextWindow),
        StopReason::ContextWindow => Some(StopReason::StopSequence),
        StopReason::StopSequence => Some(StopReason::Refusal),
        StopReason::Refusal => Some(StopReason::ContentFilter),
        StopReason::ContentFilter => Some(StopReason::Paused),
        StopReason::Paused => Some(StopReason::Other { native: "odd".to_owned() }),
        StopReason::Other { .. } => None,
    };
    std::iter::successors(Some(StopReason::EndTurn), next).collect()
}

/// Every wire format; a new one does not compile here.
fn wires() -> Vec<WireFormat> {
    let next = |wire: &WireFormat| match wire {
        WireFormat::Responses => Some(WireFormat::Chat),
        WireFormat::Chat => Some(WireFormat::Messages),
        WireFormat::Messages => Some(WireFormat::Gemini),
        WireFormat::Gemini => None,
    };
    std::iter::successors(Some(WireFormat::Responses), next).collect()
}

fn items() -> Vec<CompletionItem> {
    let text = || "hm".to_owned();
    let call = ToolCall {
        id: CallId::new("call_1"),
        name: "fs_readFile".to_owned(),
        arguments: "{}".to_owned(),
    };
    let next = |content: &CompletionContent| match content {
        CompletionContent::Text { .. } => Some(CompletionContent::Reasoning { text: text() }),
        CompletionContent::Reasoning { .. } => Some(CompletionContent::ToolCall(call.clone())),
        CompletionContent::ToolCall(_) => Some(CompletionContent::Refusal { text: text() }),
        CompletionContent::Refusal { .. } => {
            Some(CompletionContent::Other { kind: "image".to_owned() })
        }
        CompletionContent::Other { .. } => None,
    };
    let natives = [Some(json!({ "type": "text" })), None].into_iter().cycle();
    std::iter::successors(Some(CompletionContent::Text { text: text() }), next)
        .zip(natives)
        .map(|(content, native)| CompletionItem { content, native })
        .collect()
}

fn turn() -> Completion {
    Completion {
        origin: ModelOrigin {
            provider: "anthropic".to_owned(),
            wire: Some(WireFormat::Messages),
            model: "claude".to_owned(),
        },
        items: items(),
        stop: StopReason::EndTurn,
        usage: CompletionUsage {
            input: 1,
            output: 2,
            cached_input: 3,
            cache_write: 4,
            reasoning: 5,
            reported_usd: Some(0.5),
        },
        answered_by: Some("claude-1".to_owned()),
        response: Some("msg_1".to_owned()),
        native_usage: Some(json!({ "input_tokens": 1 })),
    }
}

#[test]
fn stored_answers_keep_their_fields() {
    let (mut text, full) = (String::new(), turn());
    let bare = Completion {
        origin: ModelOrigin { wire: None, ..full.origin.clone() },
        items: Vec::new(),
        usage: CompletionUsage::default(),
        answered_by: None,
        response: None,
        native_usage: None,
        ..full.clone()
    };
    add(&mut text, &full);
    add(&mut text, &bare);
    for stop in stops() {
        add(&mut text, &stop);
    }
    for wire in wires() {
        add(&mut text, &wire);
    }
    let card =
        |title, context, output| ModelInfo { name: "a/b".to_owned(), title, context, output };
    add(&mut text, &card(Some("B".to_owned()), Some(1), Some(2)));
    add(&mut text, &card(None, None, None));
    expect_file!["../golden/answers.txt"].assert_eq(&text);
}

/// The keys that would have been taken in place of an unknown one.
#[track_caller]
fn keys(error: &str) -> String {
    let (_, expected) = error.split_once("expected ").unwrap();
    let words: Vec<_> = expected.split('`').skip(1).step_by(2).collect();
    words.join(" ")
}

#[test]
fn files_keep_their_keys() {
    let provider = toml::from_str::<ProviderConfig>("zzz = 1").unwrap_err().to_string();
    expect!["wire base_url headers key_env key"].assert_eq(&keys(&provider));
    let script = |text: &str| keys(&ModelScript::parse(text).unwrap_err().to_string());
    expect!["title pace over beat"].assert_eq(&script("zzz = 1"));
    expect!["name think say call next denied error"]
        .assert_eq(&script("title = \"t\"\n[[beat]]\nzzz = 1"));
    expect!["tool arguments"].assert_eq(&script("title = \"t\"\n[[beat]]\n[[beat.call]]\nzzz = 1"));
    let prices = |text: &str| keys(&PriceTable::parse(text).unwrap_err().to_string());
    expect!["as_of source model"].assert_eq(&prices("zzz = 1"));
    let price = |text: &str| keys(&toml::from_str::<ModelPrice>(text).unwrap_err().to_string());
    expect!["input output cached cache_write long context"].assert_eq(&price("zzz = 1"));
    expect!["over input output cached cache_write"]
        .assert_eq(&price("input = 1\noutput = 1\n[long]\nzzz = 1"));
}
