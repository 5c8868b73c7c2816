//! Outputs in files and in notebooks.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_proto::Hash;
use provost_proto::notebook::{MimeBundle, MimeData, OutputContent, StreamName};
use serde_json::{Map, Value, json};

use crate::read::join_text;
use crate::write::split_lines;

/// An output of a type that is not known, as it is in the file.
const UNKNOWN_OUTPUT: &str = "application/vnd.provost.output+json";

/// Whether data of this type is JSON, and not text.
fn is_json(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

/// An output of a file; `None` if it is no object.
pub(crate) fn read_output(output: &Value) -> Option<OutputContent> {
    let fields = output.as_object()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let known = match text("output_type").as_deref() {
        Some("stream") => read_stream(fields),
        Some("error") => (|| {
            let (name, value) = (text("ename")?, text("evalue")?);
            let traceback = fields.get("traceback")?.as_array()?;
            let traceback = traceback.iter().map(|line| line.as_str().map(str::to_owned));
            Some(OutputContent::Error { name, value, traceback: traceback.collect::<Option<_>>()? })
        })(),
        Some("display_data" | "execute_result") => read_data(fields),
        Some(_) | None => None,
    };
    // What would not be written as it was read is kept as it is.
    let is_lossless = |content: &OutputContent| {
        normalize(&write_output(content, &BTreeMap::new())) == normalize(output)
    };
    Some(known.filter(is_lossless).unwrap_or_else(|| OutputContent::Display {
        data: BTreeMap::from([(UNKNOWN_OUTPUT.to_owned(), MimeData::Inline(output.clone()))]),
        metadata: Map::new(),
        display: None,
    }))
}

fn read_stream(fields: &Map<String, Value>) -> Option<OutputContent> {
    let name = match fields.get("name")?.as_str()? {
        "stdout" => StreamName::Stdout,
        "stderr" => StreamName::Stderr,
        _ => return None,
    };
    Some(OutputContent::Stream { name, text: join_text(fields.get("text"))? })
}

fn read_data(fields: &Map<String, Value>) -> Option<OutputContent> {
    let mut data = MimeBundle::new();
    for (mime, value) in fields.get("data")?.as_object()? {
        let text = if is_json(mime) { None } else { join_text(Some(value)) };
        data.insert(
            mime.clone(),
            MimeData::Inline(text.map_or_else(|| value.clone(), Value::from)),
        );
    }
    let metadata = match fields.get("metadata") {
        Some(metadata) => metadata.as_object()?.clone(),
        None => Map::new(),
    };
    let display = None;
    if fields.get("output_type")? == "display_data" {
        return Some(OutputContent::Display { data, metadata, display });
    }
    // No number is none.
    let count = fields.get("execution_count").and_then(Value::as_u64).unwrap_or(0);
    let count = u32::try_from(count).ok()?;
    Some(OutputContent::Result { data, metadata, display, count })
}

/// The same output whatever its text is split into.
fn normalize(output: &Value) -> Value {
    let mut output = output.clone();
    let Some(fields) = output.as_object_mut() else { return output };
    if let Some(text) = fields.get("text").and_then(|text| join_text(Some(text))) {
        fields.insert("text".to_owned(), json!(text));
    }
    if let Some(data) = fields.get_mut("data").and_then(Value::as_object_mut) {
        for (_, value) in data.iter_mut().filter(|(mime, _)| !is_json(mime)) {
            if let Some(text) = join_text(Some(value)) {
                *value = json!(text);
            }
        }
    }
    if fields
        .get("output_type")
        .is_some_and(|kind| kind == "display_data" || kind == "execute_result")
    {
        fields.entry("metadata").or_insert_with(|| json!({}));
    }
    if fields.get("output_type").is_some_and(|kind| kind == "execute_result") {
        fields.entry("execution_count").or_insert(Value::Null);
    }
    output
}

/// An output as a file has it.
pub(crate) fn write_output(content: &OutputContent, artifacts: &BTreeMap<Hash, Vec<u8>>) -> Value {
    match content {
        OutputContent::Stream { name, text } => {
            let name = match name {
                StreamName::Stdout => "stdout",
                StreamName::Stderr => "stderr",
            };
            json!({ "output_type": "stream", "name": name, "text": split_lines(text) })
        }
        OutputContent::Error { name, value, traceback } => json!({
            "output_type": "error", "ename": name, "evalue": value, "traceback": traceback,
        }),
        OutputContent::Markdown { text } => json!({
            "output_type": "display_data",
            "data": { "text/markdown": split_lines(text) },
            "metadata": {},
        }),
        OutputContent::Display { data, metadata, .. } => {
            if let Some(MimeData::Inline(unknown)) = data.get(UNKNOWN_OUTPUT) {
                return unknown.clone();
            }
            json!({
                "output_type": "display_data",
                "data": write_bundle(data, artifacts),
                "metadata": metadata,
            })
        }
        OutputContent::Result { data, metadata, count, .. } => json!({
            "output_type": "execute_result",
            "data": write_bundle(data, artifacts),
            "metadata": metadata,
            "execution_count": if *count == 0 { Value::Null } else { json!(count) },
        }),
    }
}

fn write_bundle(data: &MimeBundle, artifacts: &BTreeMap<Hash, Vec<u8>>) -> Map<String, Value> {
    let mut bundle = Map::new();
    for (mime, data) in data {
        let value = match data {
            MimeData::Inline(Value::String(text)) if !is_json(mime) => split_lines(text),
            MimeData::Inline(value) => value.clone(),
            MimeData::Artifact { hash, .. } => match artifacts.get(hash) {
                Some(bytes) => write_artifact(mime, bytes),
                None => continue,
            },
        };
        bundle.insert(mime.clone(), value);
    }
    bundle
}

/// Text as text, JSON as JSON, and all else as base64.
fn write_artifact(mime: &str, bytes: &[u8]) -> Value {
    if is_json(mime)
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return value;
    }
    let is_text = mime.starts_with("text/") || mime == "image/svg+xml";
    match std::str::from_utf8(bytes) {
        Ok(text) if is_text => split_lines(text),
        Ok(_) | Err(_) => json!(STANDARD.encode(bytes)),
    }
}
