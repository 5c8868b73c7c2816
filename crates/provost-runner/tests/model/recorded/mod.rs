//! Streams that were recorded from real providers, where that folder is there: beside
//! the repository in `shared/fixtures/llm`, or where `PROVOST_FIXTURES` says while the
//! tests are built. What is expected is written from the providers' documentation.

mod chat;
mod exchanges;
mod gemini;
mod messages;
mod responses;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use provost_runner::model::{Completion, ModelEvent, StopReason, WireFormat};
use serde_json::Value;

use crate::support::{decode, short};

/// Above this size, streams are cut at some bytes instead of all.
const SMALL: usize = 3000;

/// The folder, or `None`, which is then said.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/llm");
    let folder = option_env!("PROVOST_FIXTURES").map_or(beside, PathBuf::from);
    let there = folder.join("README.md").is_file();
    if !there {
        let why = "there are no recorded streams here: nothing was tested";
        // The one thing that a test that ran nothing has to say.
        std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes()).unwrap();
    }
    there.then_some(folder)
}

/// What must come of a stream. Of long texts the beginning, the end and the length.
struct Expected {
    text: Text,
    reasoning: Text,
    calls: &'static [(&'static str, &'static str, &'static str)],
    /// Input, output, cached, reasoning.
    usage: [u64; 4],
    stop: StopReason,
}

#[derive(Clone, Copy)]
enum Text {
    Is(&'static str),
    Long(&'static str, &'static str, usize),
}

const NONE: Text = Text::Is("");

impl Text {
    #[track_caller]
    fn check(self, name: &str, text: &str) {
        match self {
            Self::Is(whole) => assert_eq!(text, whole, "{name}"),
            Self::Long(begins, ends, n_chars) => {
                assert!(text.starts_with(begins) && text.ends_with(ends), "{name}: {text}");
                assert_eq!(text.chars().count(), n_chars, "{name}: {text}");
            }
        }
    }
}

/// Puts the framing back around payloads, and takes apart answers that follow one another.
fn framed(wire: WireFormat, lines: &str) -> Vec<String> {
    let mut streams: Vec<String> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).unwrap();
        let kind = value["type"].as_str().unwrap_or_default();
        if streams.is_empty() || kind == "response.created" {
            streams.push(String::new());
        }
        let stream = streams.last_mut().unwrap();
        if matches!(wire, WireFormat::Responses | WireFormat::Messages) {
            writeln!(stream, "event: {kind}").unwrap();
        }
        write!(stream, "data: {line}\n\n").unwrap();
    }
    if wire == WireFormat::Chat {
        streams.last_mut().unwrap().push_str("data: [DONE]\n\n");
    }
    streams
}

/// Reads a stream whole, byte by byte and cut in two, and gives the turn.
#[track_caller]
fn read(wire: WireFormat, name: &str, stream: &str) -> (Vec<ModelEvent>, Completion) {
    let bytes = stream.as_bytes();
    let (events, result) = decode(wire, [bytes]);
    let whole = short(&events, &result);
    assert!(result.is_ok(), "{name}: {result:?}");
    let (single, result) = decode(wire, bytes.chunks(1));
    assert_eq!(short(&single, &result), whole, "{name}, byte by byte");
    let stride = if bytes.len() <= SMALL { 1 } else { bytes.len() / 50 };
    for cut in (1..bytes.len()).step_by(stride) {
        let (events, result) = decode(wire, [&bytes[..cut], &bytes[cut..]]);
        assert_eq!(short(&events, &result), whole, "{name}, cut at {cut}");
    }
    let Some(ModelEvent::End { turn }) = events.last().cloned() else { panic!("{name}: no end") };
    (events, *turn)
}

#[track_caller]
fn check(wire: WireFormat, name: &str, stream: &str, expected: &Expected) -> Completion {
    let (events, turn) = read(wire, name, stream);
    let (mut text, mut reasoning) = (String::new(), String::new());
    for event in &events {
        if let ModelEvent::TextDelta { text: more } = event {
            text.push_str(more);
        } else if let ModelEvent::ReasoningDelta { text: more } = event {
            reasoning.push_str(more);
        }
    }
    expected.text.check(name, &text);
    expected.reasoning.check(name, &reasoning);
    assert_eq!(turn.text(), text, "{name}: what is kept is what was told");
    let calls: Vec<_> =
        turn.tool_calls().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(calls, expected.calls, "{name}");
    let usage = turn.usage;
    let came = [usage.input, usage.output, usage.cached_input, usage.reasoning];
    assert_eq!(came, expected.usage, "{name}");
    assert_eq!(turn.stop, expected.stop, "{name}");
    turn
}

fn expected(
    text: Text,
    reasoning: Text,
    calls: &'static [(&'static str, &'static str, &'static str)],
    usage: [u64; 4],
    stop: StopReason,
) -> Expected {
    Expected { text, reasoning, calls, usage, stop }
}

fn payloads(folder: &Path, name: &str, wire: WireFormat) -> Vec<String> {
    let path = folder.join("vercel-ai").join(format!("{name}.chunks.txt"));
    framed(wire, &std::fs::read_to_string(path).unwrap())
}
