//! Responses.

use provost_runner::model::StopReason::{EndTurn, ToolUse};
use provost_runner::model::{CompletionContent, WireFormat};

use super::{NONE, Text, check, expected, folder, payloads, read};
use crate::support::{decode, kind};

#[test]
fn responses_with_encrypted_reasoning_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let plan = Text::Long("**Calculating step-by-step", "reporting the final product.", 163);
    let encrypted = "openai/responses-openai-reasoning-encrypted-content.1";
    let turns = [
        expected(
            NONE,
            plan,
            &[("call_AB6AaRZ1FYZB2RwS6A5vbdqn", "calculator", r#"{"a":12,"b":7,"op":"add"}"#)],
            [134, 28, 0, 0],
            ToolUse,
        ),
        expected(
            NONE,
            NONE,
            &[("call_Q6pW65MUgW9vF59BmItYGos3", "calculator", r#"{"a":19,"b":3,"op":"multiply"}"#)],
            [221, 26, 0, 0],
            ToolUse,
        ),
        expected(
            NONE,
            NONE,
            &[(
                "call_Zl5vIMnD7dVAjgU6FkhmiCZh",
                "calculator",
                r#"{"a":57,"b":10,"op":"multiply"}"#,
            )],
            [260, 26, 0, 0],
            ToolUse,
        ),
        expected(Text::Is("The final result is **570**."), NONE, &[], [299, 12, 0, 0], EndTurn),
    ];
    let streams = payloads(&folder, encrypted, WireFormat::Responses);
    assert_eq!(streams.len(), turns.len());
    for (stream, turn) in streams.iter().zip(&turns) {
        check(WireFormat::Responses, encrypted, stream, turn);
    }
    let first = check(WireFormat::Responses, encrypted, &streams[0], &turns[0]);
    let native = first.items[0].native.as_ref().unwrap();
    assert!(native["encrypted_content"].as_str().unwrap().starts_with("gAAAAABpPDIVOKrsHNZ0"));
    assert_eq!(native["id"], "rs_01830d662ab3856501693c321405c88190be3ab04d5782d5f9");
}

#[test]
fn responses_of_another_server_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let name = "open-responses/lmstudio-tool-call.1";
    let studio = expected(
        Text::Is("I'll get the current weather information for San Francisco for you."),
        Text::Long("The user is asking for the weather", "to make the function call.", 242),
        &[("call_2025306790300011", "weather", r#"{"location":"San Francisco"}"#)],
        [182, 61, 2, 48],
        ToolUse,
    );
    check(WireFormat::Responses, name, &payloads(&folder, name, WireFormat::Responses)[0], &studio);
}

#[test]
fn responses_with_tools_that_are_not_known_that_were_recorded() {
    let Some(folder) = folder() else { return };
    for (name, n_streams, others) in [
        ("openai/responses-openai-shell-tool.1", 2, vec!["shell_call"]),
        ("openai/responses-openai-custom-tool.1", 1, vec!["custom_tool_call"]),
        ("openai/responses-openai-phase.1", 1, vec![]),
    ] {
        let streams = payloads(&folder, name, WireFormat::Responses);
        assert_eq!(streams.len(), n_streams, "{name}");
        let (_, turn) = read(WireFormat::Responses, name, &streams[0]);
        let kinds = turn.items.iter().filter_map(|item| match &item.content {
            CompletionContent::Other { kind } => Some(kind.as_str()),
            CompletionContent::Text { .. }
            | CompletionContent::Reasoning { .. }
            | CompletionContent::ToolCall(_)
            | CompletionContent::Refusal { .. } => None,
        });
        let kinds: Vec<_> = kinds.collect();
        assert_eq!(kinds, others, "{name}");
        assert_eq!(turn.stop, EndTurn, "{name}");
    }
}

#[test]
fn responses_that_failed_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let name = "openai/responses-openai-error.1";
    let stream = &payloads(&folder, name, WireFormat::Responses)[0];
    let (_, result) = decode(WireFormat::Responses, [stream.as_bytes()]);
    assert_eq!(kind(&result.unwrap_err()), "QuotaExceeded");
}
