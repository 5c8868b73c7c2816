//! One-line summaries of tool calls and their results. Pure.

use provost_core::action::Action;
use serde_json::Value;

use crate::output::{quote_text, sanitize_lines, sanitize_text};

/// Characters of a call, or of one line of its result.
const MAX_EXCERPT_CHARS: usize = 160;

/// Lines of a result.
const MAX_RESULT_LINES: usize = 8;

/// A call: the name of the tool, and what it will do.
pub(super) fn describe_tool_call(tool: &str, arguments: &str) -> String {
    let parsed = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let summary = match Action::parse(tool, parsed.clone()) {
        Ok(action) => truncate_excerpt(&action.describe()),
        Err(_) => match (parsed["role"].as_str(), parsed["task"].as_str()) {
            (Some(role), Some(task)) => {
                format!("hand a task to {}: {}", quote_text(role), excerpt_single_line(task))
            }
            _ => excerpt_single_line(arguments),
        },
    };
    format!("{}: {summary}", sanitize_text(tool))
}

/// The result of a successful call.
pub(super) fn describe_tool_result(tool: &str, output: &str) -> String {
    // The content of a file may be JSON itself; for all other tools JSON is data.
    let result = match serde_json::from_str::<Value>(output) {
        Ok(result @ Value::Object(_)) if tool != "fs.readFile" => result,
        Ok(_) | Err(_) => return excerpt_lines(output),
    };
    // Actions of the runtime return its new state.
    let result = if result["runtime"].is_object() { result["runtime"].clone() } else { result };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(text) = text(&result["text"]) {
        return excerpt_lines_or(&text, "no output");
    }
    if let Some(entries) = result["entries"].as_array() {
        return excerpt_lines_or(&format_entries(entries), "empty");
    }
    if let Some(matches) = result["matches"].as_array() {
        return excerpt_lines_or(&format_matches(matches), "no matches");
    }
    if let Some(processes) = result["processes"].as_array() {
        return excerpt_lines_or(&format_processes(processes), "no processes");
    }
    if let Some(changed) = result["changed"].as_array() {
        return excerpt_lines_or(&format_changes(changed), "no changes");
    }
    if let Some(status) = result["status"].as_str().filter(|_| result["preview"].is_object()) {
        return format_runtime(status, &result["preview"]);
    }
    if let (Some(port), Some(content)) = (result["port"].as_u64(), text(&result["content"])) {
        return excerpt_lines(&format!("status {} from port {port}\n{content}", result["status"]));
    }
    format_fields(&result)
}

fn excerpt_lines_or(text: &str, none: &str) -> String {
    if text.trim().is_empty() { none.to_owned() } else { excerpt_lines(text) }
}

fn format_entries(entries: &[Value]) -> String {
    let names = entries.iter().map(|entry| {
        let slash = if entry["kind"] == "directory" { "/" } else { "" };
        format!("{}{slash}", entry["path"].as_str().unwrap_or_default())
    });
    names.collect::<Vec<_>>().join("\n")
}

fn format_matches(matches: &[Value]) -> String {
    let lines = matches.iter().map(|found| {
        let [path, text] = ["path", "text"].map(|name| found[name].as_str().unwrap_or_default());
        format!("{path}:{}: {}", found["line"], text.trim())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn format_processes(processes: &[Value]) -> String {
    let each = processes.iter().map(|process| {
        let [id, what] = ["id", "what"].map(|name| process[name].as_str().unwrap_or_default());
        let state = if process["running"] == true { "running" } else { "ended" };
        format!("{id} {state}: {what}")
    });
    each.collect::<Vec<_>>().join("\n")
}

fn format_changes(changed: &[Value]) -> String {
    let each = changed.iter().map(|change| {
        let [path, kind] = ["path", "kind"].map(|name| change[name].as_str().unwrap_or_default());
        let from = change["from"].as_str().map(|from| format!(" from {from}")).unwrap_or_default();
        format!("{path} was {kind}{from}")
    });
    each.collect::<Vec<_>>().join("\n")
}

fn format_runtime(status: &str, preview: &Value) -> String {
    let state = match status {
        "running" => "the dev server is running".to_owned(),
        "stopped" => "the dev server is stopped".to_owned(),
        "crashed" => "the dev server crashed; `provost logs` shows its output".to_owned(),
        other => format!("the project is {}", sanitize_text(other)),
    };
    match preview["port"].as_u64() {
        Some(port) => format!("{state}; `provost preview` opens it (port {port})"),
        None => state,
    }
}

/// The scalar fields, by name.
fn format_fields(result: &Value) -> String {
    let each = result.as_object().into_iter().flatten().filter_map(|(name, value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Number(_) | Value::Bool(_) => Some(format!("{name} {value}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() { "done".to_owned() } else { excerpt_single_line(&each.join(", ")) }
}

/// The beginning of a text, joined to one line.
fn excerpt_single_line(text: &str) -> String {
    let flat = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    truncate_excerpt(flat.trim())
}

fn truncate_excerpt(text: &str) -> String {
    let start: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    let more = if text.chars().count() > MAX_EXCERPT_CHARS { "…" } else { "" };
    format!("{}{more}", sanitize_lines(&start))
}

/// The first lines of a result, indented after the first.
pub(super) fn excerpt_lines(text: &str) -> String {
    let text = text.trim_end();
    let mut shown: Vec<String> =
        text.lines().take(MAX_RESULT_LINES).map(truncate_excerpt).collect();
    match text.lines().count().saturating_sub(MAX_RESULT_LINES) {
        0 => {}
        1 => shown.push("… 1 more line".to_owned()),
        more => shown.push(format!("… {more} more lines")),
    }
    shown.join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_result_stay_lines_and_are_sanitized() {
        let long = "x".repeat(200);
        let many = "n\n".repeat(20);
        for (text, expected) in [
            ("one\ntwo\n", "one\n    two".to_owned()),
            ("a\tb\r\nc", "a\tb\n    c".to_owned()),
            ("\x1b[2Jx\u{202e}\n\0", "\\u{1b}[2Jx\\u{202e}\n    \\u{0}".to_owned()),
            ("a\rb", "a\\u{d}b".to_owned()),
            ("", String::new()),
            (&long, format!("{}…", "x".repeat(MAX_EXCERPT_CHARS))),
            (&many, format!("{}… 12 more lines", "n\n    ".repeat(MAX_RESULT_LINES))),
        ] {
            assert_eq!(excerpt_lines(text), expected, "{text:?}");
        }
        assert_eq!(excerpt_single_line("{\n  \"path\": \"a\"\n}"), "{ \"path\": \"a\" }");
    }

    #[test]
    fn every_skill_has_a_summary() {
        for name in Action::NAMES {
            let all = describe_tool_call(name, "{}")
                + &describe_tool_call(name, r#"{"path":"a","from":"a","to":"b"}"#);
            assert!(all.starts_with(&format!("{name}: ")), "{all}");
        }
        for (tool, arguments, expected) in [
            ("fs.readFile", r#"{"path":"a.txt"}"#, "fs.readFile: read a.txt"),
            (
                "runtime.run",
                "{}",
                "runtime.run: build the project if that is needed and run its dev server",
            ),
            ("terminal.runCommand", r#"{"command":"ls -l"}"#, "terminal.runCommand: run `ls -l`"),
            (
                "handoff",
                r#"{"role":"dev","task":"Do\nit."}"#,
                "handoff: hand a task to `dev`: Do it.",
            ),
            ("unknown", r#"{"a":"\u001b[2J"}"#, "unknown: {\"a\":\"\\u001b[2J\"}"),
            ("fs.readFile", "{\"pa", "fs.readFile: {\"pa"),
        ] {
            assert_eq!(describe_tool_call(tool, arguments), expected);
        }
    }

    #[test]
    fn a_result_is_summarized_as_text() {
        for (output, expected) in [
            (
                r#"{"entries":[{"path":"site","kind":"directory"},{"path":"a.txt","kind":"file"}]}"#,
                "site/\n    a.txt",
            ),
            (r#"{"entries":[]}"#, "empty"),
            (r#"{"matches":[{"path":"a","line":3,"column":1,"text":"  x"}],"files":1}"#, "a:3: x"),
            (
                r#"{"size":3,"replaced":1,"changed":[{"path":"a","kind":"modified"}]}"#,
                "a was modified",
            ),
            (r#"{"changed":[{"path":"b","kind":"moved","from":"a"}]}"#, "b was moved from a"),
            (r#"{"text":"","offset":0}"#, "no output"),
            (r#"{"text":"ready\n\u001b[2J","offset":0}"#, "ready\n    \\u{1b}[2J"),
            (
                r#"{"status":"running","preview":{"port":3000}}"#,
                "the dev server is running; `provost preview` opens it (port 3000)",
            ),
            (
                r#"{"started":true,"runtime":{"status":"stopped","preview":{"port":null}}}"#,
                "the dev server is stopped",
            ),
            (r#"{"processes":[{"id":"act_1","what":"ls","running":true}]}"#, "act_1 running: ls"),
            (r#"{"kind":"file","path":"a","size":3}"#, "kind file, path a, size 3"),
            (r#"{"port":3000,"status":200,"content":"<p>"}"#, "status 200 from port 3000\n    <p>"),
            (r#"{"other":[1]}"#, "done"),
            ("exit code 0\nstdout:\nhi", "exit code 0\n    stdout:\n    hi"),
        ] {
            assert_eq!(describe_tool_result("a.tool", output), expected);
        }
        let file = r#"{"text":"of a file"}"#;
        assert_eq!(describe_tool_result("fs.readFile", file), file);
    }
}
