//! Whole exchanges.

use provost_runner::model::WireFormat;
use serde::Deserialize;
use serde_json::json;

use super::{folder, read};

#[derive(Deserialize)]
struct Cassette {
    interactions: Vec<Interaction>,
}

#[derive(Deserialize)]
struct Interaction {
    response: Recorded,
}

#[derive(Deserialize)]
struct Recorded {
    body: Body,
}

#[derive(Deserialize)]
struct Body {
    string: String,
}

#[test]
fn whole_exchanges_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let cassette = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(folder.join("pydantic-ai").join(name)).unwrap();
        let cassette: Cassette = serde_saphyr::from_str(&text).unwrap();
        cassette.interactions.into_iter().map(|each| each.response.body.string).collect()
    };
    let name = "test_anthropic-test_anthropic_model_thinking_part_redacted_stream.yaml";
    let (_, turn) = read(WireFormat::Messages, name, &cassette(name)[0]);
    let natives: Vec<_> =
        turn.items.iter().map(|i| i.native.as_ref().unwrap()["type"].clone()).collect();
    assert_eq!(natives, [json!("redacted_thinking"), json!("redacted_thinking"), json!("text")]);
    assert_eq!((turn.usage.input, turn.usage.output), (92, 189));

    let name = "test_openai_responses-test_openai_responses_streaming_usage.yaml";
    let (_, turn) = read(WireFormat::Responses, name, &cassette(name)[0]);
    let usage = turn.usage;
    assert_eq!([usage.input, usage.output, usage.cached_input, usage.reasoning], [53, 469, 0, 448]);
    assert_eq!(turn.tool_calls().next().unwrap().arguments, r#"{"result":6666}"#);

    let name = "test_google-test_google_streaming_tool_call_thought_signature.yaml";
    let answers = cassette(name);
    let (_, first) = read(WireFormat::Gemini, name, &answers[0]);
    assert!(first.items[0].native.as_ref().unwrap()["thoughtSignature"].is_string());
    let (_, second) = read(WireFormat::Gemini, name, &answers[1]);
    assert_eq!(second.text(), "The capital of Mexico is Mexico City.");

    let name = "test_openrouter-test_openrouter_stream_with_reasoning.yaml";
    let (_, turn) = read(WireFormat::Chat, name, &cassette(name)[0]);
    let details = &turn.items[0].native.as_ref().unwrap()["reasoning_details"];
    assert_eq!(details[0]["type"], "reasoning.encrypted");
    assert_eq!((turn.usage.output, turn.usage.reported_usd), (104, Some(0.00085)));
    assert!(turn.text().starts_with("I’m ChatGPT, a large-language-model assistant"));
}
