//! Outcomes and results of actions, as they are logged and returned.

use std::time::Instant;

use provost_core::action::ActionKind;
use provost_core::quarantine::PUT_BACK_HINT;
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputStream};
use provost_proto::{Code, RawJson};
use serde_json::{Value, json};

use crate::GatewayError;
use crate::project::kernels::FinishedCommand;

/// What an agent is told whose command failed without the network.
const NO_NETWORK_HINT: &str = "no network in this profile: the command could not reach any other \
machine, nor servers of this one; if it needs to, run it with `network` set to true, which a \
person may be asked to allow";

/// The outcome of an action whose result is the kernel's response.
pub(crate) fn outcome_from_result(
    kind: ActionKind,
    result: &Result<RawJson, ErrorInfo>,
    started: Instant,
) -> ActionOutcome {
    // Only writes report what they changed.
    let written = result.as_ref().ok().filter(|_| kind == ActionKind::Write);
    let mut written = written.map(RawJson::to_value).unwrap_or_default();
    let changed = written.get_mut("changed").map(Value::take);
    let mut summary = json!({ "changed": changed });
    if let Some(set_aside) = written.get_mut("setAside") {
        summary["setAside"] = set_aside.take();
    }
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        fault: result.as_ref().err().cloned(),
        summary,
    }
}

/// A result as it is sent.
pub(super) fn encode_raw_result(result: &Value) -> Result<RawJson, GatewayError> {
    RawJson::new(result).map_err(|error| {
        let message = format!("cannot encode the result: {error}");
        GatewayError::Fault(ErrorInfo { code: Code::Internal, message, details: None })
    })
}

/// The result of a command: its output and how it ended.
pub(super) fn build_command_result(finished: FinishedCommand) -> Result<Value, GatewayError> {
    let FinishedCommand { outcome, output } = finished;
    let text = |stream| output.stream_text(stream);
    if let Some(mut fault) = outcome.fault.clone() {
        fault.details = Some(json!({
            "stdout": text(OutputStream::Stdout),
            "stderr": text(OutputStream::Stderr),
            "outcome": outcome,
        }));
        return Err(GatewayError::Fault(fault));
    }
    let mut result = json!({
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "durationMs": outcome.duration_ms,
        "stdout": text(OutputStream::Stdout),
        "stderr": text(OutputStream::Stderr),
        "droppedBytes": outcome.summary["droppedBytes"],
    });
    add_sandbox_notes(&outcome, &mut result);
    Ok(result)
}

/// Adds to the result of a command what the sandbox did to it: `setAside`, and in `hint` what
/// it lacked.
pub fn add_sandbox_notes(outcome: &ActionOutcome, result: &mut Value) {
    let summary = &outcome.summary;
    let set_aside = summary.get("setAside");
    if let Some(set_aside) = set_aside {
        result["setAside"] = set_aside.clone();
    }
    let unreadable = summary["unreadable"].as_str().map(|path| {
        format!(
            "commands of this project cannot read {path}; if they need it, a person adds it to \
             `[sandbox] read` in a policy.toml"
        )
    });
    let no_network = (summary["noNetwork"] == true).then(|| NO_NETWORK_HINT.to_owned());
    let put_back = set_aside.map(|_| PUT_BACK_HINT.to_owned());
    let hints: Vec<String> = unreadable.into_iter().chain(no_network).chain(put_back).collect();
    if !hints.is_empty() {
        result["hint"] = hints.join("\n").into();
    }
}
