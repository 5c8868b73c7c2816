//! How an action ran and ended, as sentences.

use std::collections::BTreeMap;

use provost_proto::kernel::{ActionOutcome, ObservedChanges, OutputChunk};
use serde::Deserialize as _;
use serde_json::Value;

use super::to_sentence;
use crate::output::{quote_name, sanitize_text};

/// Output of a command that the log holds.
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

/// The sandbox layers that were applied, and those that were not.
pub(super) fn format_sandbox_layers(layers: &BTreeMap<String, Value>) -> String {
    let missing = |value: &&Value| {
        matches!(value, Value::Null | Value::Bool(false))
            || value.as_u64() == Some(0)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    let each = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = |missed: bool| -> Vec<String> {
        let selected =
            layers.iter().filter(|(name, value)| *name != "profile" && missing(value) == missed);
        selected
            .map(|(name, value)| match value {
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
    let (applied, missing) = (names(false), names(true));
    let missing =
        if missing.is_empty() { String::new() } else { format!("; not: {}", missing.join(", ")) };
    format!("Sandbox layers: {}{missing}.", applied.join(", "))
}

pub(super) fn describe_outcome(outcome: &ActionOutcome, printed: &OutputTotals) -> Vec<String> {
    let mut lines = Vec::new();
    let summary = &outcome.summary;
    if let (Some(out), Some(err)) =
        (summary["stdoutBytes"].as_u64(), summary["stderrBytes"].as_u64())
    {
        let dropped = summary["droppedBytes"].as_u64().unwrap_or(printed.dropped);
        let dropped =
            if dropped == 0 { String::new() } else { format!("; {dropped} bytes were dropped") };
        lines.push(format!("Output: {out} bytes on stdout, {err} on stderr{dropped}."));
    } else if printed.chunks > 0 {
        lines.push("It printed output.".to_owned());
    }
    let time = format!("after {} ms", outcome.duration_ms);
    lines.push(match (&outcome.fault, outcome.exit_code, outcome.signal) {
        (Some(fault), _, _) => {
            format!("Failed {time} ({}): {}", fault.code, to_sentence(&fault.message))
        }
        (None, Some(code), _) => format!("Exited {time} with code {code}."),
        (None, None, Some(signal)) => format!("Killed {time} by signal {signal}."),
        (None, None, None) => format!("Done {time}."),
    });
    for changed in summary["changed"].as_array().into_iter().flatten() {
        let text = |key: &str| changed[key].as_str().map(quote_name);
        let (path, kind) = (text("path").unwrap_or_default(), changed["kind"].as_str());
        let from = text("from").map(|from| format!(" from {from}")).unwrap_or_default();
        lines.push(format!(
            "Changed: {path} was {}{from}.",
            sanitize_text(kind.unwrap_or("changed"))
        ));
    }
    if let Ok(observed) = ObservedChanges::deserialize(&summary["meanwhile"]) {
        lines.extend(describe_observed_changes(&observed));
    }
    for planted in summary["planted"].as_array().into_iter().flatten() {
        let path = planted.as_str().map(quote_name).unwrap_or_default();
        lines.push(format!("WARNING: it created {path}, a protected path."));
    }
    lines.extend(describe_sandbox_notes(outcome));
    lines
}

/// What the sandbox did to a command: what it lacked, and what was taken away from it.
pub(crate) fn describe_sandbox_notes(outcome: &ActionOutcome) -> Vec<String> {
    let summary = &outcome.summary;
    let mut lines = Vec::new();
    if let Some(path) = summary["unreadable"].as_str() {
        let path = quote_name(path);
        lines.push(format!(
            "Commands cannot read {path}. If they need it, add it to `[sandbox] read` in policy.toml."
        ));
    }
    if summary["noNetwork"] == true {
        lines.push(
            "It had no network in this profile. If it needs it, request it with network=true."
                .to_owned(),
        );
    }
    lines.extend(describe_set_aside(&summary["setAside"]));
    lines
}

/// What an action left that would run outside the sandbox, and where it is now.
fn describe_set_aside(report: &Value) -> Vec<String> {
    let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let mut lines = Vec::new();
    for entry in list("entries") {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let left = match entry["left"].as_str() {
            Some("former") => "; its former content is back",
            Some("rest") => "; the rest of it is in place",
            Some(_) | None => "",
        };
        lines.push(format!(
            "Set aside: {}, because {}{left}. It is kept in the data folder as {}; \
             the action fs.restoreFile with this id puts it back.",
            quote_name(&text("path")),
            sanitize_text(&text("why")),
            sanitize_text(&text("kept"))
        ));
    }
    if let Some(more) = report["more"].as_u64() {
        lines.push(format!("Set aside: {more} more."));
    }
    for failed in list("failed") {
        let what = sanitize_text(failed.as_str().unwrap_or_default());
        lines.push(format!("WARNING: review this, it could not be set aside: {what}."));
    }
    lines
}

/// Files that changed while a command ran; another process may have changed them.
fn describe_observed_changes(observed: &ObservedChanges) -> impl Iterator<Item = String> {
    let changed = observed.changed.iter().map(|path| quote_name(path));
    let folders = observed.folders.iter().map(|folder| {
        let folder =
            if folder == "." { "the project's folder".to_owned() } else { quote_name(folder) };
        format!("names in {folder} were added or removed")
    });
    let more = observed.more.then(|| "possibly more; the list is not complete".to_owned());
    changed.chain(folders).chain(more).map(|what| format!("Changed while it ran: {what}."))
}
