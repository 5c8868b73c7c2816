//! How an action ran and ended, in sentences.

use std::collections::BTreeMap;

use provost_proto::kernel::{ActionOutcome, ObservedChanges, OutputChunk};
use serde::Deserialize as _;
use serde_json::Value;

use super::to_sentence;
use crate::output::{quote_text, sanitize_text};

/// How much a command printed, as far as the log holds it.
#[derive(Debug, Default)]
pub(super) struct OutputTotals {
    chunks: usize,
    dropped: u64,
}

impl OutputTotals {
    pub(super) fn add_output(&mut self, output: &OutputChunk) {
        self.chunks += 1;
        self.dropped += output.dropped;
    }
}

/// The layers of the wall: those that were applied, and those that were not.
pub(super) fn format_sandbox_layers(layers: &BTreeMap<String, Value>) -> String {
    let missing = |value: &&Value| {
        matches!(value, Value::Null | Value::Bool(false))
            || value.as_u64() == Some(0)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    let each = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = |missed: bool| -> Vec<String> {
        let of =
            layers.iter().filter(|(name, value)| *name != "profile" && missing(value) == missed);
        of.map(|(name, value)| match value {
            Value::Number(_) | Value::String(_) => sanitize_text(&format!("{name} {value}")),
            Value::Array(values) if !values.is_empty() => {
                let values: Vec<_> = values.iter().map(each).collect();
                sanitize_text(&format!("{name} {}", values.join(" and ")))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                sanitize_text(name)
            }
        })
        .collect()
    };
    let (had, lacked) = (names(false), names(true));
    let lacked =
        if lacked.is_empty() { String::new() } else { format!("; not: {}", lacked.join(", ")) };
    format!("It was behind: {}{lacked}.", had.join(", "))
}

pub(super) fn describe_outcome(outcome: &ActionOutcome, printed: &OutputTotals) -> Vec<String> {
    let mut lines = Vec::new();
    let summary = &outcome.summary;
    if let (Some(out), Some(err)) =
        (summary["stdoutBytes"].as_u64(), summary["stderrBytes"].as_u64())
    {
        let dropped = summary["droppedBytes"].as_u64().unwrap_or(printed.dropped);
        let dropped = if dropped == 0 { String::new() } else { format!(", {dropped} not kept") };
        lines.push(format!("It printed {out} bytes, and {err} as errors{dropped}."));
    } else if printed.chunks > 0 {
        lines.push("It printed something.".to_owned());
    }
    let time = format!("after {} ms", outcome.duration_ms);
    lines.push(match (&outcome.fault, outcome.exit_code, outcome.signal) {
        (Some(fault), _, _) => {
            format!("It failed {time} ({}): {}", fault.code, to_sentence(&fault.message))
        }
        (None, Some(code), _) => format!("It ended {time} with exit code {code}."),
        (None, None, Some(signal)) => format!("It was ended {time} by signal {signal}."),
        (None, None, None) => format!("It was done {time}."),
    });
    for changed in summary["changed"].as_array().into_iter().flatten() {
        let text = |key: &str| changed[key].as_str().map(quote_text);
        let (path, kind) = (text("path").unwrap_or_default(), changed["kind"].as_str());
        let from = text("from").map(|from| format!(" from {from}")).unwrap_or_default();
        lines.push(format!(
            "Changed: {path} was {}{from}.",
            sanitize_text(kind.unwrap_or("changed"))
        ));
    }
    if let Ok(found) = ObservedChanges::deserialize(&summary["meanwhile"]) {
        lines.extend(describe_observed_changes(&found));
    }
    for planted in summary["planted"].as_array().into_iter().flatten() {
        let path = planted.as_str().map(quote_text).unwrap_or_default();
        lines.push(format!("LOOK AT THIS: it made {path}, which governs others."));
    }
    lines
}

/// What changed while a command ran, by whatever did: that is all that is known.
fn describe_observed_changes(found: &ObservedChanges) -> impl Iterator<Item = String> {
    let changed = found.changed.iter().map(|path| quote_text(path));
    let folders = found.folders.iter().map(|folder| {
        let folder =
            if folder == "." { "the project's folder".to_owned() } else { quote_text(folder) };
        format!("names in {folder} were added or removed")
    });
    let more = found.more.then(|| "maybe more; not all was looked at or is named".to_owned());
    changed.chain(folders).chain(more).map(|what| format!("Changed while it ran: {what}."))
}
