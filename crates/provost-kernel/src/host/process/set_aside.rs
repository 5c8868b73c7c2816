//! Begins and settles actions in the quarantine, on threads that may block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::redact::Redactor;
use provost_proto::Code;
use provost_sandbox::confine::{
    AppliedLayers, PathProtection, Sandbox, SandboxChild, SandboxCommand,
};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::project_sandboxes::action_error_from_sandbox;
use crate::ActionError;
use crate::quarantine::{ActionWatch, Quarantine, SetAsideReport};

/// How long what a background process leaves may lie there.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How much longer than a check the pause after it is, so that checks of a large project cost
/// little.
const PAUSE_PER_CHECK: u32 = 50;

/// Checks what a background process leaves, until it is dropped.
#[derive(Debug)]
pub(in crate::host) struct BackgroundChecks(AbortHandle);

impl BackgroundChecks {
    pub(in crate::host) fn start(watch: &mut ActionWatch) -> Self {
        let quarantine = watch.mark_background();
        let task = tokio::spawn(async move {
            let mut pause = CHECK_INTERVAL;
            loop {
                tokio::time::sleep(pause).await;
                let (quarantine, started_at) = (Arc::clone(&quarantine), Instant::now());
                let check = move || quarantine.set_aside_in_background();
                if let Err(error) = tokio::task::spawn_blocking(check).await {
                    tracing::error!(%error, "cannot look at what background processes leave");
                }
                pause = CHECK_INTERVAL.max(started_at.elapsed().saturating_mul(PAUSE_PER_CHECK));
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for BackgroundChecks {
    fn drop(&mut self) {
        self.0.abort();
    }
}

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
