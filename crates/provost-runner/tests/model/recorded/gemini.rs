//! `streamGenerateContent`.

use provost_runner::model::StopReason::{EndTurn, ToolUse};
use provost_runner::model::WireFormat;
use serde_json::Value;

use super::{NONE, Text, check, expected, folder, payloads};

const LOCATION: &str = r#"{"location":"San Francisco"}"#;

#[test]
fn gemini_that_was_recorded() {
    let Some(folder) = folder() else { return };
    let st = "There are **3** \"r\"s in strawberry.\n\nst**r**awbe**rr**y";
    let big = "There are **3** \"r\"s in strawberry.\n\nSt**r**awbe**rr**y";
    let table = [
        ("google-text", expected(Text::Is(st), NONE, &[], [9, 208, 0, 185], EndTurn)),
        ("google-reasoning-gemini3", expected(Text::Is(big), NONE, &[], [9, 325, 0, 302], EndTurn)),
        (
            "google-tool-call",
            expected(
                NONE,
                NONE,
                &[("b36LacjwM668nsEP2tbsgQQ_0", "weather", LOCATION)],
                [29, 60, 0, 45],
                ToolUse,
            ),
        ),
        (
            "google-tool-call-gemini3",
            expected(
                NONE,
                NONE,
                &[("QHiLaa6LBrb8vdIPoNztsAg_0", "weather", LOCATION)],
                [29, 819, 0, 804],
                ToolUse,
            ),
        ),
        (
            "google-stream-tool-call-arguments",
            expected(
                NONE,
                NONE,
                &[
                    ("dqHOab6xGLzWodAPkPuViA4_0", "getWeather", r#"{"location":"Boston"}"#),
                    ("dqHOab6xGLzWodAPkPuViA4_1", "getWeather", r#"{"location":"San Francisco"}"#),
                ],
                [26, 155, 0, 132],
                ToolUse,
            ),
        ),
    ];
    for (name, expected) in &table {
        let streams = payloads(&folder, &format!("google/{name}"), WireFormat::Gemini);
        let turn = check(WireFormat::Gemini, name, &streams[0], expected);
        let signed = |native: &Value| native["thoughtSignature"].is_string();
        let n_signed = turn.items.iter().filter_map(|i| i.native.as_ref()).filter(|n| signed(n));
        assert_eq!(n_signed.count(), 1, "{name}");
    }
}
