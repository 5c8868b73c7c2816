//! Projects: list, open, show, close.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use provost_gateway::{KernelState, OpenProjectOutcome, OperatorRequest};
use provost_proto::{KernelHealth, OpenProjectRequest, Project, ProjectList, ProjectStatus};
use serde::Deserialize;

use super::{JsonResult, find_visible_project};
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::{IdempotencyHeader, JsonBody, Path, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectListQuery {
    #[serde(default)]
    all: bool,
}

/// List the open projects; with `all`, the closed ones too.
#[utoipa::path(get, path = "/api/projects", params(("all" = Option<bool>, Query)), responses((status = 200, body = ProjectList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Query(which): Query<ProjectListQuery>,
) -> JsonResult<ProjectList> {
    let mut projects = app.gateway.projects.list_projects().await?;
    projects.retain(|project| {
        reader.may_see(project.id) && (which.all || project.status == ProjectStatus::Open)
    });
    Ok(Json(ProjectList { projects }))
}

/// Open a folder as a project.
#[utoipa::path(post, path = "/api/projects", request_body = OpenProjectRequest, responses((status = 201, body = Project, description = "opened"), (status = 200, body = Project, description = "was open already")))]
pub(crate) async fn open(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<OpenProjectRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let request = OperatorRequest { by: &by, command };
    Ok(match app.gateway.lifecycle.open_project(request, &value.path).await? {
        OpenProjectOutcome::Opened(project) => (StatusCode::CREATED, Json(project)),
        OpenProjectOutcome::AlreadyOpen(project) => (StatusCode::OK, Json(project)),
    })
}

/// Show one project, by id or slug.
#[utoipa::path(get, path = "/api/projects/{p}", params(("p" = String, Path)), responses((status = 200, body = Project)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<Project> {
    Ok(Json(find_visible_project(&app, &reader, &name).await?))
}

/// Show the state of a project's kernel process.
#[utoipa::path(get, path = "/api/projects/{p}/kernel", params(("p" = String, Path)), responses((status = 200, body = KernelHealth)))]
pub(crate) async fn show_kernel(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<KernelHealth> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(match app.gateway.kernels.kernel_state(project.id) {
        KernelState::NotRunning => KernelHealth::None,
        KernelState::Connected { pid, heartbeat } => {
            let heartbeat_ms = u64::try_from(heartbeat.as_millis()).unwrap_or(u64::MAX);
            KernelHealth::Connected { pid, heartbeat_ms }
        }
        KernelState::Unresponsive { pid } => KernelHealth::Unresponsive { pid },
    }))
}

/// Close a project. Its folder and its history stay.
#[utoipa::path(delete, path = "/api/projects/{p}", params(("p" = String, Path)), responses((status = 200, body = Project)))]
pub(crate) async fn close(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
    IdempotencyHeader(command): IdempotencyHeader,
) -> JsonResult<Project> {
    Ok(Json(
        app.gateway.lifecycle.close_project(OperatorRequest { by: &by, command }, &name).await?,
    ))
}
