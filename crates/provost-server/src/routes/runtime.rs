//! The runtime of a project: status, output, preview URL, and run, stop, restart and build.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use provost_gateway::{ActionSubmission, SubmissionOutcome};
use provost_proto::runtime::{PreviewStatus, PreviewUrl, RuntimeLogPage, RuntimeStatusResponse};
use provost_proto::{ActionResponse, Code, SubmitActionRequest, limits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{JsonResult, find_visible_project};
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{Authenticated, RequireReader};
use crate::middleware::extractors::{JsonBody, Path, Query};

/// Default of `wait`, in milliseconds.
const DEFAULT_WAIT_MS: u64 = 60_000;

/// Largest `wait`, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

/// Show the state of a project's runtime: terminal, dev server, build and preview.
#[utoipa::path(get, path = "/api/projects/{p}/runtime/status", params(("p" = String, Path)), responses((status = 200, body = RuntimeStatusResponse)))]
pub(crate) async fn show_status(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<RuntimeStatusResponse> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let mut state = app.gateway.runtime.runtime_state(&project).await?;
    if state.preview.port.is_some() {
        state.preview.url = app.previews.preview_url(&project, None);
    }
    for port in &mut state.preview.ports {
        port.url = app.previews.preview_url(&project, Some(port.port));
    }
    Ok(Json(state))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuntimeWaitQuery {
    wait: Option<u64>,
}

/// Parameters of stop and restart; none for run and build.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RuntimeParams {
    /// Time to exit after the first signal, in milliseconds.
    grace_ms: Option<u64>,
}

/// Run, stop, restart or build a project: submits the action of that name for the caller.
/// `what` is one of `run`, `stop`, `restart`, `build`.
#[utoipa::path(post, path = "/api/projects/{p}/runtime/{what}", params(("p" = String, Path), ("what" = String, Path, pattern = "^(run|stop|restart|build)$"), ("wait" = Option<u64>, Query)), request_body = RuntimeParams, responses((status = 200, body = ActionResponse), (status = 202, body = ActionResponse)))]
pub(crate) async fn run_runtime_action(
    State(app): State<Arc<AppState>>,
    Authenticated(caller): Authenticated,
    Path((name, what)): Path<(String, String)>,
    Query(RuntimeWaitQuery { wait }): Query<RuntimeWaitQuery>,
    JsonBody { value, command }: JsonBody<RuntimeParams>,
) -> Result<impl IntoResponse, ApiError> {
    if !["run", "stop", "restart", "build"].contains(&what.as_str()) {
        let why = format!("unknown runtime action `{what}`; use run, stop, restart or build");
        return Err(ApiError::new(Code::NotFound, why));
    }
    let params: Value = value.grace_ms.map_or_else(|| json!({}), |ms| json!({ "graceMs": ms }));
    let action = format!("runtime.{what}");
    let wanted = SubmitActionRequest { action, params, role: None, session_id: None };
    let wait = Duration::from_millis(wait.unwrap_or(DEFAULT_WAIT_MS).min(MAX_WAIT_MS));
    let submit = ActionSubmission { wanted, id: None, command, wait };
    Ok(match app.gateway.actions.submit_action(&caller, &name, submit).await? {
        SubmissionOutcome::Finished(answer) => (StatusCode::OK, Json(answer)),
        SubmissionOutcome::Running(answer) => (StatusCode::ACCEPTED, Json(answer)),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    #[serde(default)]
    after: u64,
    limit: Option<u64>,
}

/// Read the output of builds and dev servers from a byte offset on.
#[utoipa::path(get, path = "/api/projects/{p}/runtime/logs", params(("p" = String, Path), ("after" = Option<u64>, Query), ("limit" = Option<u64>, Query)), responses((status = 200, body = RuntimeLogPage)))]
pub(crate) async fn read_logs(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(LogQuery { after, limit }): Query<LogQuery>,
) -> JsonResult<RuntimeLogPage> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let max = u64::try_from(limits::MAX_LOG_PAGE_BYTES).unwrap_or(u64::MAX);
    let limit = limit.unwrap_or(max).clamp(1, max);
    Ok(Json(app.gateway.runtime.runtime_logs(project.id, after, limit).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewUrlQuery {
    port: Option<u16>,
}

/// Get the URL of a project's preview or of another of its ports. The URL works once: it gives
/// the browser access to that preview, and to nothing else.
#[utoipa::path(get, path = "/api/projects/{p}/preview/url", params(("p" = String, Path), ("port" = Option<u16>, Query, maximum = 65535)), responses((status = 200, body = PreviewUrl)))]
pub(crate) async fn create_preview_url(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(PreviewUrlQuery { port }): Query<PreviewUrlQuery>,
) -> JsonResult<PreviewUrl> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let preview = app.gateway.runtime.runtime_state(&project).await?.preview;
    let is_open = |port: u16| preview.ports.iter().any(|open| open.port == port);
    if let Some(port) = port.filter(|port| !is_open(*port)) {
        let why = format!("nothing of the project listens on port {port}");
        return Err(ApiError::new(Code::PreviewDown, why));
    }
    let listens = preview.port.is_some() && preview.status != PreviewStatus::Lost;
    let url = if listens {
        let code = app.gateway.preview.create_preview_code(&reader, project.id, port)?;
        let entrance = app.previews.entrance_url(&project, port, code.reveal());
        let none_left = || {
            let why = "no port is left for the preview of this project; restart the daemon, or \
                       start it with another --preview-port";
            ApiError::new(Code::Unavailable, why)
        };
        Some(entrance.ok_or_else(none_left)?)
    } else {
        None
    };
    Ok(Json(PreviewUrl { status: preview.status, url }))
}
