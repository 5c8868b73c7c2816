//! Every stream in `streams` decodes to its expected events, at any chunk boundaries.

use std::path::Path;

use crate::support::{WIRES, decode, files, short};
use provost_runner::model::WireFormat;
use serde_json::Value;

fn streams() -> Vec<(WireFormat, String, Vec<u8>, Vec<Value>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut streams = Vec::new();
    for (folder, wire) in WIRES {
        for path in files(&root.join(folder), ".sse") {
            let expected = std::fs::read_to_string(path.with_extension("jsonl")).unwrap();
            let expected = expected.lines().map(|line| serde_json::from_str(line).unwrap());
            let name = format!("{folder}/{}", path.file_stem().unwrap().to_string_lossy());
            streams.push((wire, name, std::fs::read(&path).unwrap(), expected.collect()));
        }
    }
    assert!(streams.len() >= 40, "only {} streams", streams.len());
    streams
}

#[track_caller]
fn check<'a>(
    wire: WireFormat,
    name: &str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    expected: &[Value],
) {
    let (events, result) = decode(wire, pieces);
    let came = short(&events, &result);
    for (n, (came, expected)) in came.iter().zip(expected).enumerate() {
        assert_eq!(came, expected, "{name}, event {n}");
    }
    assert_eq!(came.len(), expected.len(), "{name}: {came:?}");
}

#[test]
fn every_stream_gives_what_is_expected_of_it() {
    for (wire, name, stream, expected) in streams() {
        check(wire, &name, [stream.as_slice()], &expected);
    }
}

#[test]
fn every_stream_gives_the_same_byte_by_byte() {
    for (wire, name, stream, expected) in streams() {
        check(wire, &name, stream.chunks(1), &expected);
    }
}

/// The streams of one wire format, cut in two at every byte, and ended after every byte.
fn cut(wire: WireFormat) {
    for (_, name, stream, expected) in streams().into_iter().filter(|stream| stream.0 == wire) {
        for cut in 1..stream.len() {
            let (first, second) = stream.split_at(cut);
            check(wire, &format!("{name}, cut at {cut}"), [first, second], &expected);
            // Without the rest it is either an error, or all that counts had come.
            let (events, result) = decode(wire, [first]);
            let came = short(&events, &result);
            assert!(
                result.is_err() || kept(&came) == kept(&expected),
                "{name}, ended after {cut} bytes: {came:?}"
            );
        }
    }
}

fn kept(lines: &[Value]) -> Vec<Value> {
    let counts = |line: &&Value| line[0] == "item" || line[0] == "stop";
    lines.iter().filter(counts).cloned().collect()
}

// Apart, so that they run side by side.

#[test]
fn responses_give_the_same_cut_at_every_byte_and_never_end_early_as_whole() {
    cut(WireFormat::Responses);
}

#[test]
fn chat_completions_give_the_same_cut_at_every_byte_and_never_end_early_as_whole() {
    cut(WireFormat::Chat);
}

#[test]
fn messages_give_the_same_cut_at_every_byte_and_never_end_early_as_whole() {
    cut(WireFormat::Messages);
}

#[test]
fn gemini_gives_the_same_cut_at_every_byte_and_never_ends_early_as_whole() {
    cut(WireFormat::Gemini);
}
