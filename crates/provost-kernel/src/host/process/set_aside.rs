//! Begins and settles actions in the quarantine, on threads that may block.

use std::sync::Arc;

use provost_core::redact::Redactor;
use provost_proto::Code;
use serde_json::Value;

use crate::ActionError;
use crate::quarantine::{ActionWatch, Quarantine, SetAsideReport};

/// Begins an action: what changes from now on counts as its work.
pub(in crate::host) async fn begin_watch(
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
