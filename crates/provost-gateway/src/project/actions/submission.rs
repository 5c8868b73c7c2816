//! Requests for actions and their responses.

use std::time::Duration;

use provost_proto::{
    ActionId, ActionResponse, ActionStatus, ApprovalId, Hash, RawJson, SubmitActionRequest,
};
use provost_store::Idempotency;
use tokio::time::timeout;

use crate::GatewayError;
use crate::project::approvals::{ActionEndReceiver, ApprovalRequestOutcome};
use crate::project::executor::{ActionExecutor, ExecutionResult};

/// A request for an action.
#[derive(Debug)]
pub struct ActionSubmission {
    /// The action and its parameters.
    pub wanted: SubmitActionRequest,
    /// The id of the action, if the client has recorded it before the request.
    pub id: Option<ActionId>,
    /// The client's idempotency key.
    pub command: Option<Idempotency>,
    /// How long to wait for the end before the client is answered that the action goes on.
    pub wait: Duration,
}

/// The response to a request for an action.
#[derive(Debug)]
pub enum SubmissionOutcome {
    /// The action has ended.
    Finished(ActionResponse),
    /// The action goes on, or waits for an approval.
    Running(ActionResponse),
}

/// Waits for the end of an action that was started, up to a time.
pub(super) async fn await_started_action(
    executor: &ActionExecutor,
    end: ActionEndReceiver,
    id: ActionId,
    hash: Hash,
    wait: Duration,
) -> Result<SubmissionOutcome, GatewayError> {
    match timeout(wait, end).await {
        Err(_) => {
            executor.release_waiter(id);
            let response = build_action_response(id, hash, ActionStatus::Running, None);
            Ok(SubmissionOutcome::Running(response))
        }
        Ok(Err(_)) => Err(GatewayError::Stopping),
        Ok(Ok(end)) => Ok(build_submission_outcome(id, hash, end?)),
    }
}

/// Waits for a person's answer and the end of the action, up to a time.
pub(super) async fn await_approved_action(
    requested: ApprovalRequestOutcome,
    id: ActionId,
    hash: Hash,
    wait: Duration,
) -> Result<SubmissionOutcome, GatewayError> {
    match requested {
        ApprovalRequestOutcome::AlreadyPending(pending) => {
            Ok(build_waiting_outcome(pending.action, pending.action_hash, pending.id))
        }
        ApprovalRequestOutcome::Created(approval, end) => match timeout(wait, end).await {
            Ok(Ok(end)) => Ok(build_submission_outcome(id, hash, end?)),
            Ok(Err(_)) => Err(GatewayError::Stopping),
            Err(_) => Ok(build_waiting_outcome(id, hash, approval)),
        },
    }
}

pub(super) fn build_action_response(
    id: ActionId,
    hash: Hash,
    status: ActionStatus,
    result: Option<RawJson>,
) -> ActionResponse {
    ActionResponse { action_id: id, action_hash: hash, status, approval_id: None, result }
}

fn build_waiting_outcome(id: ActionId, hash: Hash, approval: ApprovalId) -> SubmissionOutcome {
    let waiting = build_action_response(id, hash, ActionStatus::Waiting, None);
    SubmissionOutcome::Running(ActionResponse { approval_id: Some(approval), ..waiting })
}

fn build_submission_outcome(id: ActionId, hash: Hash, end: ExecutionResult) -> SubmissionOutcome {
    match end {
        ExecutionResult::Finished(value) => SubmissionOutcome::Finished(build_action_response(
            id,
            hash,
            ActionStatus::Finished,
            Some(value),
        )),
        ExecutionResult::Running(value) => SubmissionOutcome::Running(build_action_response(
            id,
            hash,
            ActionStatus::Running,
            Some(value),
        )),
    }
}
