//! What the tests of the model layer share.

use std::path::{Path, PathBuf};

use provost_runner::model::{
    Completion, CompletionContent, CompletionItem, CompletionUsage, ModelError, ModelEvent,
    ModelOrigin, StopReason, WireFormat,
};
use serde_json::{Value, json};

/// The wire formats, by the names of their folders.
pub(crate) const WIRES: [(&str, WireFormat); 4] = [
    ("responses", WireFormat::Responses),
    ("chat", WireFormat::Chat),
    ("messages", WireFormat::Messages),
    ("gemini", WireFormat::Gemini),
];

pub(crate) fn origin(wire: WireFormat) -> ModelOrigin {
    let (provider, model) = match wire {
        WireFormat::Responses => ("openai", "gpt-5"),
        WireFormat::Chat => ("ollama", "m"),
        WireFormat::Messages => ("anthropic", "claude-sonnet-5"),
        WireFormat::Gemini => ("gemini", "gemini-3-pro-preview"),
    };
    ModelOrigin { provider: provider.to_owned(), wire: Some(wire), model: model.to_owned() }
}

/// What comes of a stream that is fed in these pieces.
pub(crate) fn decode<'a>(
    wire: WireFormat,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    let mut decoder = wire.decoder(origin(wire));
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push_bytes(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let finished = decoder.finish(&mut events);
    (events, finished)
}

/// The finished turn of a stream.
pub(crate) fn turn(wire: WireFormat, stream: &[u8]) -> Completion {
    let (events, result) = decode(wire, [stream]);
    result.unwrap();
    match events.into_iter().next_back() {
        Some(ModelEvent::End { turn }) => *turn,
        other => panic!("ends with {other:?}"),
    }
}

/// The short form of events, as `streams/README.md` describes it.
pub(crate) fn short(events: &[ModelEvent], result: &Result<(), ModelError>) -> Vec<Value> {
    let mut lines = Vec::new();
    for event in events {
        match event {
            ModelEvent::TextDelta { text } => lines.push(json!(["text", text])),
            ModelEvent::ReasoningDelta { text } => lines.push(json!(["reasoning", text])),
            ModelEvent::Refusal { text } => lines.push(json!(["refusal", text])),
            ModelEvent::ToolCallBegin { index, id, name } => {
                lines.push(json!(["call", index, id, name]));
            }
            ModelEvent::ToolCallArguments { index, delta } => {
                lines.push(json!(["args", index, delta]));
            }
            ModelEvent::ToolCallEnd { index } => lines.push(json!(["ended", index])),
            ModelEvent::Usage { usage } => {
                let CompletionUsage { input, output, cached_input, cache_write, reasoning, .. } =
                    usage;
                let line = json!(["usage", input, output, cached_input, cache_write, reasoning]);
                lines.push(line);
            }
            ModelEvent::Waiting { attempt, .. } => lines.push(json!(["waiting", attempt])),
            ModelEvent::Restarted { attempt } => lines.push(json!(["restarted", attempt])),
            ModelEvent::End { turn } => {
                lines.extend(turn.items.iter().map(item));
                lines.push(json!(["stop", stop(&turn.stop)]));
            }
        }
    }
    if let Err(error) = result {
        lines.push(json!(["error", kind(error)]));
    }
    lines
}

fn item(item: &CompletionItem) -> Value {
    let native = &item.native;
    match &item.content {
        CompletionContent::Text { text } => json!(["item", "text", text, native]),
        CompletionContent::Reasoning { text } => json!(["item", "reasoning", text, native]),
        CompletionContent::Refusal { text } => json!(["item", "refusal", text, native]),
        CompletionContent::Other { kind } => json!(["item", "other", kind, native]),
        CompletionContent::ToolCall(call) => {
            json!(["item", "call", call.id, call.name, call.arguments, native])
        }
    }
}

fn stop(stop: &StopReason) -> Value {
    let value = serde_json::to_value(stop).unwrap();
    if value["native"].is_string() { value["native"].clone() } else { value["reason"].clone() }
}

/// The name of an error's variant.
pub(crate) fn kind(error: &ModelError) -> String {
    let text = format!("{error:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// The files below a folder with this ending, in order.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(ending));
    files.sort();
    files
}
