//! The runtimes of a notebook that the daemon runs itself: list, start, stop.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use provost_proto::notebook::{LocalRuntime, LocalRuntimeList, StartRuntimeRequest};

use super::JsonResult;
use super::notebooks::parse_notebook;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireNotebookAccess, RequireOperator};
use crate::middleware::extractors::{JsonBody, Path};

/// List the runtimes of a notebook that the daemon runs, and the types that it can run.
#[utoipa::path(get, path = "/api/notebooks/{n}/runtimes", params(("n" = String, Path)), responses((status = 200, body = LocalRuntimeList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(notebook): Path<String>,
) -> JsonResult<LocalRuntimeList> {
    let notebook = parse_notebook(&notebook)?;
    app.gateway.notebooks.find_visible(&access, notebook).await?;
    Ok(Json(app.runtimes.list(notebook)))
}

/// Start a runtime in the daemon, which displaces the one before. One of the same type and role
/// that is running already is returned. It is there again after a restart of the daemon.
#[utoipa::path(post, path = "/api/notebooks/{n}/runtimes", params(("n" = String, Path)), request_body = StartRuntimeRequest, responses((status = 200, body = LocalRuntime)))]
pub(crate) async fn start(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(notebook): Path<String>,
    JsonBody { value, command: _ }: JsonBody<StartRuntimeRequest>,
) -> JsonResult<LocalRuntime> {
    let notebook = parse_notebook(&notebook)?;
    Ok(Json(app.runtimes.start(&by, notebook, value).await?))
}

/// Stop a runtime in the daemon, and what it executes.
#[utoipa::path(delete, path = "/api/notebooks/{n}/runtimes/{runtime}", params(("n" = String, Path), ("runtime" = String, Path)), responses((status = 204)))]
pub(crate) async fn stop(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path((notebook, runtime)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let notebook = parse_notebook(&notebook)?;
    app.runtimes.stop(notebook, &runtime).await?;
    Ok(StatusCode::NO_CONTENT)
}
