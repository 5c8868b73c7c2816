//! What a model calls, and what came of it, in plain words. Pure.

use provost_core::action::Action;
use serde_json::Value;

use crate::output::{quote_text, sanitize_lines, sanitize_text};

/// The longest excerpt of a call, or of a line of its result.
const MAX_EXCERPT_CHARS: usize = 160;

/// The most lines of a result.
const MAX_RESULT_LINES: usize = 8;

/// A call: its name, and what will happen.
pub(super) fn describe_tool_call(tool: &str, arguments: &str) -> String {
    let given = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let said = match Action::parse(tool, given.clone()) {
        Ok(action) => truncate_excerpt(&action.describe()),
        Err(_) => match (given["role"].as_str(), given["task"].as_str()) {
            (Some(role), Some(task)) => {
                format!("give {} a task: {}", quote_text(role), excerpt_single_line(task))
            }
            _ => excerpt_single_line(arguments),
        },
    };
    format!("{}: {said}", sanitize_text(tool))
}

/// What came of a call that was done.
pub(super) fn describe_tool_result(tool: &str, output: &str) -> String {
    // A file may be JSON itself; of all others only data is, and the rest is text.
    let told = match serde_json::from_str::<Value>(output) {
        Ok(told @ Value::Object(_)) if tool != "fs.readFile" => told,
        Ok(_) | Err(_) => return excerpt_lines(output),
    };
    // What starts or stops something tells how the project stands since.
    let told = if told["runtime"].is_object() { told["runtime"].clone() } else { told };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(text) = text(&told["text"]) {
        return excerpt_lines_or(&text, "nothing was printed");
    }
    if let Some(entries) = told["entries"].as_array() {
        return excerpt_lines_or(&format_entries(entries), "there is nothing");
    }
    if let Some(matches) = told["matches"].as_array() {
        return excerpt_lines_or(&format_matches(matches), "nothing was found");
    }
    if let Some(processes) = told["processes"].as_array() {
        return excerpt_lines_or(&format_processes(processes), "nothing runs");
    }
    if let Some(changed) = told["changed"].as_array() {
        return excerpt_lines_or(&format_changes(changed), "nothing was changed");
    }
    if let Some(status) = told["status"].as_str().filter(|_| told["preview"].is_object()) {
        return format_runtime(status, &told["preview"]);
    }
    if let (Some(port), Some(content)) = (told["port"].as_u64(), text(&told["content"])) {
        return excerpt_lines(&format!("status {} from port {port}\n{content}", told["status"]));
    }
    format_fields(&told)
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
    let places = matches.iter().map(|found| {
        let [path, text] = ["path", "text"].map(|name| found[name].as_str().unwrap_or_default());
        format!("{path}:{}: {}", found["line"], text.trim())
    });
    places.collect::<Vec<_>>().join("\n")
}

fn format_processes(processes: &[Value]) -> String {
    let each = processes.iter().map(|process| {
        let [id, what] = ["id", "what"].map(|name| process[name].as_str().unwrap_or_default());
        let how = if process["running"] == true { "runs" } else { "has ended" };
        format!("{id} {how}: {what}")
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
    let how = match status {
        "running" => "the dev server runs".to_owned(),
        "stopped" => "nothing runs".to_owned(),
        "crashed" => "the dev server crashed; `provost logs` shows what it printed".to_owned(),
        other => format!("the project is {}", sanitize_text(other)),
    };
    match preview["port"].as_u64() {
        Some(port) => format!("{how}; `provost preview` shows it (port {port})"),
        None => how,
    }
}

/// Whatever is short, by its name.
fn format_fields(told: &Value) -> String {
    let each = told.as_object().into_iter().flatten().filter_map(|(name, value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Number(_) | Value::Bool(_) => Some(format!("{name} {value}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() { "done".to_owned() } else { excerpt_single_line(&each.join(", ")) }
}

/// The beginning of a text, on one line.
fn excerpt_single_line(text: &str) -> String {
    let flat = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    truncate_excerpt(flat.trim())
}

fn truncate_excerpt(text: &str) -> String {
    let begins: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    let more = if text.chars().count() > MAX_EXCERPT_CHARS { "…" } else { "" };
    format!("{}{more}", sanitize_lines(&begins))
}

/// The first lines of what came of a call, below each other.
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
    fn the_lines_of_a_result_are_lines_and_steer_nothing() {
        let long = "x".repeat(200);
        let many = "n\n".repeat(20);
        for (text, looks) in [
            ("one\ntwo\n", "one\n    two".to_owned()),
            ("a\tb\r\nc", "a\tb\n    c".to_owned()),
            ("\x1b[2Jx\u{202e}\n\0", "\\u{1b}[2Jx\\u{202e}\n    \\u{0}".to_owned()),
            ("a\rb", "a\\u{d}b".to_owned()),
            ("", String::new()),
            (&long, format!("{}…", "x".repeat(MAX_EXCERPT_CHARS))),
            (&many, format!("{}… 12 more lines", "n\n    ".repeat(MAX_RESULT_LINES))),
        ] {
            assert_eq!(excerpt_lines(text), looks, "{text:?}");
        }
        assert_eq!(excerpt_single_line("{\n  \"path\": \"a\"\n}"), "{ \"path\": \"a\" }");
    }

    #[test]
    fn every_skill_is_called_in_words() {
        for name in Action::NAMES {
            let all = describe_tool_call(name, "{}")
                + &describe_tool_call(name, r#"{"path":"a","from":"a","to":"b"}"#);
            assert!(all.starts_with(&format!("{name}: ")), "{all}");
        }
        for (tool, arguments, looks) in [
            ("fs.readFile", r#"{"path":"a.txt"}"#, "fs.readFile: read a.txt"),
            (
                "runtime.run",
                "{}",
                "runtime.run: build the project if that is needed and run its dev server",
            ),
            ("terminal.runCommand", r#"{"command":"ls -l"}"#, "terminal.runCommand: run `ls -l`"),
            ("handoff", r#"{"role":"dev","task":"Do\nit."}"#, "handoff: give `dev` a task: Do it."),
            ("unknown", r#"{"a":"\u001b[2J"}"#, "unknown: {\"a\":\"\\u001b[2J\"}"),
            ("fs.readFile", "{\"pa", "fs.readFile: {\"pa"),
        ] {
            assert_eq!(describe_tool_call(tool, arguments), looks);
        }
    }

    #[test]
    fn what_came_of_a_call_is_told_in_words_and_not_as_data() {
        for (output, looks) in [
            (
                r#"{"entries":[{"path":"site","kind":"directory"},{"path":"a.txt","kind":"file"}]}"#,
                "site/\n    a.txt",
            ),
            (r#"{"entries":[]}"#, "there is nothing"),
            (r#"{"matches":[{"path":"a","line":3,"column":1,"text":"  x"}],"files":1}"#, "a:3: x"),
            (
                r#"{"size":3,"replaced":1,"changed":[{"path":"a","kind":"modified"}]}"#,
                "a was modified",
            ),
            (r#"{"changed":[{"path":"b","kind":"moved","from":"a"}]}"#, "b was moved from a"),
            (r#"{"text":"","offset":0}"#, "nothing was printed"),
            (r#"{"text":"ready\n\u001b[2J","offset":0}"#, "ready\n    \\u{1b}[2J"),
            (
                r#"{"status":"running","preview":{"port":3000}}"#,
                "the dev server runs; `provost preview` shows it (port 3000)",
            ),
            (
                r#"{"started":true,"runtime":{"status":"stopped","preview":{"port":null}}}"#,
                "nothing runs",
            ),
            (r#"{"processes":[{"id":"act_1","what":"ls","running":true}]}"#, "act_1 runs: ls"),
            (r#"{"kind":"file","path":"a","size":3}"#, "kind file, path a, size 3"),
            (r#"{"port":3000,"status":200,"content":"<p>"}"#, "status 200 from port 3000\n    <p>"),
            (r#"{"other":[1]}"#, "done"),
            ("exit code 0\nstdout:\nhi", "exit code 0\n    stdout:\n    hi"),
        ] {
            assert_eq!(describe_tool_result("a.tool", output), looks);
        }
        let file = r#"{"text":"of a file"}"#;
        assert_eq!(describe_tool_result("fs.readFile", file), file);
    }
}
