//! Actions: submit, show, cancel; and the state of a project's kernel.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use provost_gateway::{ActionSubmission, SubmissionOutcome};
use provost_proto::{ActionResponse, ActionView, CancelActionResponse, SubmitActionRequest};
use serde::Deserialize;

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::Authenticated;
use crate::middleware::extractors::{JsonBody, Path, Query};

/// Default of `wait`, in milliseconds.
const DEFAULT_WAIT_MS: u64 = 60_000;

/// Largest `wait`, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionWaitQuery {
    wait: Option<u64>,
}

/// Submit an action. Responds when it has ended, or after `wait` milliseconds with its state
/// so far.
#[utoipa::path(post, path = "/api/projects/{p}/actions", params(("p" = String, Path), ("wait" = Option<u64>, Query)), request_body = SubmitActionRequest, responses((status = 200, body = ActionResponse), (status = 202, body = ActionResponse)))]
pub(crate) async fn submit_action(
    State(app): State<Arc<AppState>>,
    Authenticated(caller): Authenticated,
    Path(project): Path<String>,
    Query(ActionWaitQuery { wait }): Query<ActionWaitQuery>,
    JsonBody { value, command }: JsonBody<SubmitActionRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let wait = Duration::from_millis(wait.unwrap_or(DEFAULT_WAIT_MS).min(MAX_WAIT_MS));
    let submit = ActionSubmission { wanted: value, id: None, command, wait };
    Ok(match app.gateway.actions.submit_action(&caller, &project, submit).await? {
        SubmissionOutcome::Finished(answer) => (StatusCode::OK, Json(answer)),
        SubmissionOutcome::Running(answer) => (StatusCode::ACCEPTED, Json(answer)),
    })
}

/// Show the state of an action. The caller that submitted it also gets its result.
#[utoipa::path(get, path = "/api/actions/{id}", params(("id" = String, Path)), responses((status = 200, body = ActionView)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> JsonResult<ActionView> {
    Ok(Json(app.gateway.actions.get_action_for_caller(&caller, &id).await?))
}

/// Cancel an action.
#[utoipa::path(post, path = "/api/actions/{id}/cancel", params(("id" = String, Path)), responses((status = 200, body = CancelActionResponse)))]
pub(crate) async fn cancel(
    State(app): State<Arc<AppState>>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> JsonResult<CancelActionResponse> {
    let stopping = app.gateway.actions.cancel_action(&caller, &id).await?;
    Ok(Json(CancelActionResponse { stopping }))
}
