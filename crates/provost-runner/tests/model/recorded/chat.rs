//! Chat Completions.

use provost_runner::model::StopReason::{EndTurn, ToolUse};
use provost_runner::model::WireFormat;

use super::{NONE, Text, check, expected, folder, payloads};

#[test]
fn chat_completions_that_were_recorded() {
    let Some(folder) = folder() else { return };
    let holiday = Text::Long("**Holiday Name:** Harmony Day", "and mutual respect.", 1724);
    let counted = Text::Long("We need to count", "Thus, the answer is 3.", 606);
    let asked = Text::Long("The user is asking for the wea", "set to \"San Francisco\".", 191);
    let three = Text::Is("The word \"strawberry\" contains three \"r\"s.");
    let table = [
        ("openai/chat-openai-text", expected(holiday, NONE, &[], [16, 300, 0, 0], EndTurn)),
        (
            "openai/chat-azure-model-router.1",
            expected(Text::Is("Capital of Denmark."), NONE, &[], [15, 78, 0, 64], EndTurn),
        ),
        ("deepseek/deepseek-reasoning", expected(three, counted, &[], [18, 219, 0, 205], EndTurn)),
        (
            "deepseek/deepseek-tool-call",
            expected(
                NONE,
                asked,
                &[(
                    "call_00_ioIn7yN9p1ZOMNpDLwd4MgAF",
                    "weather",
                    r#"{"location": "San Francisco"}"#,
                )],
                [339, 83, 320, 39],
                ToolUse,
            ),
        ),
        (
            "groq/groq-tool-call",
            expected(NONE, NONE, &[("tk85n1k4m", "weather", "{}")], [210, 15, 0, 0], ToolUse),
        ),
        (
            "mistral/mistral-incremental-tool-call",
            expected(
                NONE,
                NONE,
                &[(
                    "chatcmpl-tool-9f149c74c42f265b",
                    "webSearchTool",
                    r#"{"query": "current Berlin weather"}"#,
                )],
                [171, 14, 128, 0],
                ToolUse,
            ),
        ),
    ];
    for (name, expected) in &table {
        let streams = payloads(&folder, name, WireFormat::Chat);
        check(WireFormat::Chat, name, &streams[0], expected);
    }
}
