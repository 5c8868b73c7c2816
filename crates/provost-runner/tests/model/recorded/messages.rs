//! Messages.

use provost_runner::model::StopReason::{EndTurn, MaxTokens, Refusal, ToolUse};
use provost_runner::model::WireFormat;

use super::{NONE, Text, check, expected, folder, payloads, read};

#[test]
fn messages_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let hello = Text::Long("Hello! I'm doing well", "anything I can help you with?", 108);
    let sunny =
        r#"{"elements": [{"location": "San Francisco", "temperature": 58, "condition": "sunny"}]}"#;
    let thought = Text::Long("The previous result was 925. N", "925 ÷ 5 = 185", 75);
    let table = [
        ("anthropic-text", expected(hello, NONE, &[], [12, 30, 0, 0], EndTurn)),
        (
            "anthropic-message-delta-input-tokens",
            expected(Text::Is("pong"), NONE, &[], [61, 2, 0, 0], EndTurn),
        ),
        (
            "anthropic-clear-thinking.1",
            expected(Text::Is("925 ÷ 5 = 185"), thought, &[], [69, 53, 0, 0], EndTurn),
        ),
        ("anthropic-refusal", expected(NONE, NONE, &[], [18, 5, 0, 0], Refusal)),
        (
            "duplicate-message-start",
            expected(Text::Is("Hello, World!"), NONE, &[], [17, 227, 0, 0], EndTurn),
        ),
        (
            "anthropic-tool-no-args",
            expected(
                Text::Is("I'll update the issue list for you."),
                NONE,
                &[("toolu_01QE1WLsSVp5hy5Q3GmGTmjP", "updateIssueList", "")],
                [565, 48, 0, 0],
                ToolUse,
            ),
        ),
    ];
    for (name, expected) in &table {
        let streams = payloads(&folder, &format!("anthropic/{name}"), WireFormat::Messages);
        check(WireFormat::Messages, name, &streams[0], expected);
    }
    let name = "anthropic-json-tool.1";
    let (_, turn) = read(
        WireFormat::Messages,
        name,
        &payloads(&folder, &format!("anthropic/{name}"), WireFormat::Messages)[0],
    );
    assert_eq!(turn.tool_calls().next().unwrap().arguments, sunny);
    for (name, stop, n_calls, n_output) in [
        ("basic_response", EndTurn, 0, 6),
        ("tool_use_response", ToolUse, 1, 65),
        ("incomplete_partial_json_response", MaxTokens, 1, 124),
    ] {
        let path = folder.join("anthropic-sdk-python").join(format!("{name}.txt"));
        let (_, turn) = read(WireFormat::Messages, name, &std::fs::read_to_string(path).unwrap());
        assert_eq!((turn.stop.clone(), turn.tool_calls().count()), (stop, n_calls), "{name}");
        assert_eq!(turn.usage.output, n_output, "{name}");
    }
}
