//! Begins and settles actions in the quarantine, on threads that may block.

use std::sync::Arc;

use provost_core::redact::Redactor;
use provost_proto::Code;
use provost_sandbox::confine::{
    AppliedLayers, PathProtection, Sandbox, SandboxChild, SandboxCommand,
};
use serde_json::Value;

use super::project_sandboxes::action_error_from_sandbox;
use crate::ActionError;
use crate::quarantine::{ActionWatch, Quarantine, SetAsideReport};

/// Begins an action and starts its command: what changes from now on counts as its work.
pub(in crate::host) async fn spawn_watched(
    quarantine: &Arc<Quarantine>,
    sandbox: &Sandbox,
    command: SandboxCommand,
) -> Result<(SandboxChild, ActionWatch), ActionError> {
    let watch = begin_watch(quarantine, holds_existing_paths(sandbox.applied())).await?;
    match sandbox.spawn(command) {
        Ok(child) => Ok((child, watch)),
        Err(error) => {
            watch.cancel();
            Err(action_error_from_sandbox(&error))
        }
    }
}

async fn begin_watch(
    quarantine: &Arc<Quarantine>,
    is_read_only: bool,
) -> Result<ActionWatch, ActionError> {
    let quarantine = Arc::clone(quarantine);
    let begun = tokio::task::spawn_blocking(move || quarantine.begin_action(is_read_only)).await;
    begun.map_err(|error| {
        ActionError::new(Code::Internal, format!("cannot look at the project's settings: {error}"))
    })
}

/// Sets aside what an action left; `None` if there is nothing to report.
pub(in crate::host) async fn settle_watch(
    watch: ActionWatch,
    redactor: &Redactor,
) -> Option<Value> {
    let report = match tokio::task::spawn_blocking(move || watch.settle()).await {
        Ok(report) => report,
        Err(error) => SetAsideReport {
            failed: vec![format!("what it left could not be looked at: {error}")],
            ..SetAsideReport::default()
        },
    };
    let mut report = (!report.is_empty()).then(|| serde_json::to_value(report).ok())??;
    redactor.redact_json(&mut report);
    Some(report)
}

/// Whether what exists of the protected paths cannot be changed in the sandbox.
fn holds_existing_paths(applied: &AppliedLayers) -> bool {
    applied.protected_by == PathProtection::Mounts
}
