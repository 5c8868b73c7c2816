//! Results of tool calls as text for the model.

use provost_proto::kernel::ErrorInfo;
use provost_proto::session::ToolCallStatus;
use provost_proto::{Code, limits};
use serde_json::Value;

use super::tool_execution::ToolOutcome;

/// The text of a successful call.
pub(crate) fn render_success(action: &str, result: &Value) -> ToolOutcome {
    let text = match action {
        "terminal.runCommand" if result.get("exitCode").is_some() => render_command_result(result),
        "fs.readFile" => match (result["content"].as_str(), result["encoding"].as_str()) {
            (Some(content), None | Some("utf-8")) => content.to_owned(),
            _ => result.to_string(),
        },
        _ => result.to_string(),
    };
    ToolOutcome {
        status: ToolCallStatus::Ok,
        output: truncate_middle(text, limits::MAX_TOOL_OUTPUT_BYTES),
    }
}

fn render_command_result(result: &Value) -> String {
    let mut text = match (result["exitCode"].as_i64(), result["signal"].as_i64()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    for (name, printed) in [("stdout", &result["stdout"]), ("stderr", &result["stderr"])] {
        if let Some(printed) = printed.as_str().filter(|printed| !printed.is_empty()) {
            text.extend(["\n", name, ":\n", printed]);
        }
    }
    text.push_str(&render_set_aside(&result["setAside"]));
    for hint in result["hint"].as_str().into_iter().flat_map(str::lines) {
        text.extend(["\nnote: ", hint]);
    }
    text
}

/// What the command left and Provost took away: without it, the model would look for its file.
fn render_set_aside(report: &Value) -> String {
    let entries = report["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    for entry in entries {
        let (path, why) = (entry["path"].as_str(), entry["why"].as_str());
        let (path, why) = (path.unwrap_or_default(), why.unwrap_or_default());
        let id = entry["id"].as_str().unwrap_or_default();
        text.extend(["\nset aside, not in the project any more: ", path, " (", why, "), id ", id]);
    }
    text
}

/// The text of a call that was denied, failed or was cancelled.
pub(crate) fn render_failure(fault: &ErrorInfo) -> ToolOutcome {
    let status = status_from_code(fault.code);
    let how = match status {
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        ToolCallStatus::Ok | ToolCallStatus::Error => "failed",
    };
    let mut output = format!("{how} ({}): {}", fault.code, fault.message);
    if let Some(details) = &fault.details {
        for name in ["stdout", "stderr"] {
            if let Some(printed) = details[name].as_str().filter(|text| !text.is_empty()) {
                output.extend(["\n", name, ":\n", printed]);
            }
        }
    }
    ToolOutcome { status, output: truncate_middle(output, limits::MAX_TOOL_OUTPUT_BYTES) }
}

/// The status that an error code stands for.
fn status_from_code(code: Code) -> ToolCallStatus {
    match code.status() {
        403 if code != Code::PermissionDenied && code != Code::SandboxDenied => {
            ToolCallStatus::Denied
        }
        _ if code == Code::Cancelled => ToolCallStatus::Cancelled,
        _ => ToolCallStatus::Error,
    }
}

/// Removes the middle of a text that is longer than `max_bytes`.
pub(crate) fn truncate_middle(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let (mut head, mut tail) = (max_bytes / 2, text.len() - max_bytes / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let left_out = tail - head;
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{head}\n… {left_out} bytes are left out here …\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_reads_as_in_a_terminal_and_a_file_as_it_is() {
        let result = json!({ "exitCode": 1, "stdout": "a\n", "stderr": "" });
        assert_eq!(
            render_success("terminal.runCommand", &result).output,
            "exit code 1\nstdout:\na\n"
        );
        let entry = json!({ "path": ".envrc", "why": "shells run it", "id": "1f" });
        let result = json!({ "exitCode": 0, "setAside": { "entries": [entry] } });
        let output = render_success("terminal.runCommand", &result).output;
        assert!(
            output.contains("set aside") && output.contains(".envrc (shells run it), id 1f"),
            "{output}"
        );
        let result = json!({ "exitCode": 6, "hint": "no network in this profile: x" });
        assert_eq!(
            render_success("terminal.runCommand", &result).output,
            "exit code 6\nnote: no network in this profile: x"
        );
        let file = json!({ "content": "fn main() {}\n", "encoding": "utf-8" });
        assert_eq!(render_success("fs.readFile", &file).output, "fn main() {}\n");
    }

    #[test]
    fn a_denial_carries_the_message_of_the_person() {
        let fault = |code| ErrorInfo { code, message: "use npm ci".to_owned(), details: None };
        let denied = render_failure(&fault(Code::ApprovalDenied));
        assert_eq!(denied.output, "denied (APPROVAL_DENIED): use npm ci");
        assert_eq!(denied.status, ToolCallStatus::Denied);
        assert_eq!(render_failure(&fault(Code::NotFound)).status, ToolCallStatus::Error);
        assert_eq!(render_failure(&fault(Code::Cancelled)).status, ToolCallStatus::Cancelled);
    }

    #[test]
    fn the_middle_of_a_long_text_is_left_out_between_characters() {
        let text = truncate_middle("é".repeat(100), 51);
        assert!(
            text.starts_with('é') && text.ends_with('é') && text.contains("left out"),
            "{text}"
        );
    }
}
