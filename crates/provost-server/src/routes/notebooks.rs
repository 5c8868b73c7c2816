//! Notebooks: list, create, show, commands, artifacts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, RANGE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use provost_gateway::{ArtifactContent, CommandsError, NotebookCommands};
use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{
    AppliedNotebookCommands, Artifact, CreateNotebookRequest, CreatedNotebook,
    ImportNotebookRequest, ImportedNotebook, NotebookCommandsRequest, NotebookDetail, NotebookList,
};
use provost_proto::{Code, Hash, NotebookId};
use provost_runtimes::{export_notebook, import_notebook};
use serde::Deserialize;
use serde_json::json;

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireNotebookAccess;
use crate::middleware::extractors::{JsonBody, Path, Query, RawBody};

/// What artifacts are when their client did not say.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The types that a browser may show by themselves; all others it saves.
const SHOWN_TYPES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// The id of a notebook in a path.
pub(super) fn parse_notebook(name: &str) -> Result<NotebookId, ApiError> {
    name.parse().map_err(|_| {
        let why = format!("there is no notebook `{name}`; `provost notebook list` shows them");
        ApiError::new(Code::NotebookNotFound, why)
    })
}

/// List the notebooks of a project, the newest first.
#[utoipa::path(get, path = "/api/projects/{p}/notebooks", params(("p" = String, Path)), responses((status = 200, body = NotebookList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(project): Path<String>,
) -> JsonResult<NotebookList> {
    let project = app.gateway.projects.get_project(&project).await?;
    Ok(Json(app.gateway.notebooks.list(&access, project.id).await?))
}

/// Create an empty notebook.
#[utoipa::path(post, path = "/api/projects/{p}/notebooks", params(("p" = String, Path)), request_body = CreateNotebookRequest, responses((status = 201, body = CreatedNotebook)))]
pub(crate) async fn create(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(project): Path<String>,
    JsonBody { value, command }: JsonBody<CreateNotebookRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let project = app.gateway.projects.get_project(&project).await?;
    let notebook = app.gateway.notebooks.create(&access, &project, &value, command).await?;
    Ok((StatusCode::CREATED, Json(CreatedNotebook { notebook })))
}

/// Show a notebook with its cells, current executions and their outputs.
#[utoipa::path(get, path = "/api/notebooks/{n}", params(("n" = String, Path)), responses((status = 200, body = NotebookDetail)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(notebook): Path<String>,
) -> JsonResult<NotebookDetail> {
    let notebook = parse_notebook(&notebook)?;
    Ok(Json(app.gateway.notebooks.show(&access, notebook).await?))
}

/// Apply commands to a notebook, all or none. The same as over `/api/sync`.
#[utoipa::path(post, path = "/api/notebooks/{n}/commands", params(("n" = String, Path)), request_body = NotebookCommandsRequest, responses((status = 200, body = AppliedNotebookCommands)))]
pub(crate) async fn apply_commands(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(notebook): Path<String>,
    JsonBody { value, command }: JsonBody<NotebookCommandsRequest>,
) -> JsonResult<AppliedNotebookCommands> {
    let notebook = parse_notebook(&notebook)?;
    let (commands, key) = (value.commands, command.map(|command| command.key));
    let request = NotebookCommands { notebook, commands, key, connection: None };
    match app.gateway.notebooks.apply_commands(&access, request).await {
        Ok(version) => Ok(Json(AppliedNotebookCommands { version })),
        Err(CommandsError::Failed(error)) => Err(error.into()),
        Err(CommandsError::Refused { index, refusal, version }) => {
            let details = Some(json!({ "index": index, "version": version }));
            let fault = ErrorInfo { code: refusal.code, message: refusal.error, details };
            Err(provost_gateway::GatewayError::Fault(fault).into())
        }
    }
}

/// Create a notebook with the content of an `.ipynb` file.
#[utoipa::path(post, path = "/api/projects/{p}/notebooks/import", params(("p" = String, Path)), request_body = ImportNotebookRequest, responses((status = 201, body = ImportedNotebook)))]
pub(crate) async fn import(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(project): Path<String>,
    JsonBody { value, command }: JsonBody<ImportNotebookRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let project = app.gateway.projects.get_project(&project).await?;
    let imported = import_notebook(&app.gateway, &access, &project, value, command).await?;
    Ok((StatusCode::CREATED, Json(imported)))
}

/// Get a notebook as an `.ipynb` file of format 4.5.
#[utoipa::path(get, path = "/api/notebooks/{n}/ipynb", params(("n" = String, Path)), responses((status = 200, body = Object)))]
pub(crate) async fn export(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path(notebook): Path<String>,
) -> JsonResult<serde_json::Value> {
    let notebook = parse_notebook(&notebook)?;
    Ok(Json(export_notebook(&app.gateway, &access, notebook).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtifactQuery {
    name: Option<String>,
}

/// Store bytes for a notebook under their BLAKE3 hash.
#[utoipa::path(put, path = "/api/notebooks/{n}/artifacts/{hash}", params(("n" = String, Path), ("hash" = String, Path), ("name" = Option<String>, Query)), request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, body = Artifact)))]
pub(crate) async fn put_artifact(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path((notebook, hash)): Path<(String, String)>,
    Query(ArtifactQuery { name }): Query<ArtifactQuery>,
    RawBody { bytes, content_type }: RawBody,
) -> JsonResult<Artifact> {
    let (notebook, hash) = (parse_notebook(&notebook)?, parse_hash(&hash)?);
    let mime = content_type.unwrap_or_else(|| UNKNOWN_TYPE.to_owned());
    let content = ArtifactContent { hash, mime, name, bytes: bytes.into() };
    Ok(Json(app.gateway.notebooks.put_artifact(&access, notebook, content).await?))
}

/// Get the bytes of an artifact, or a range of them.
#[utoipa::path(get, path = "/api/notebooks/{n}/artifacts/{hash}", params(("n" = String, Path), ("hash" = String, Path)), responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>), (status = 206, content_type = "application/octet-stream", body = Vec<u8>)))]
pub(crate) async fn get_artifact(
    State(app): State<Arc<AppState>>,
    RequireNotebookAccess(access): RequireNotebookAccess,
    Path((notebook, hash)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let (notebook, hash) = (parse_notebook(&notebook)?, parse_hash(&hash)?);
    let (artifact, bytes) = app.gateway.notebooks.get_artifact(&access, notebook, hash).await?;
    let range = headers.get(RANGE).and_then(|value| value.to_str().ok());
    let range = range.and_then(|range| parse_range(range, bytes.len()));
    let is_shown = SHOWN_TYPES.contains(&&*artifact.mime);
    let fixed = [
        (ACCEPT_RANGES, "bytes"),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
        (CONTENT_DISPOSITION, if is_shown { "inline" } else { "attachment" }),
        // Whatever it is: it reaches nothing of this origin.
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; frame-ancestors 'none'"),
    ];
    let mut headers: HeaderMap =
        fixed.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(CONTENT_TYPE, &artifact.mime);
    let Some((first, last)) = range else { return Ok((StatusCode::OK, headers, bytes)) };
    set(CONTENT_RANGE, &format!("bytes {first}-{last}/{}", bytes.len()));
    let part = bytes.get(first..=last).unwrap_or_default().to_vec();
    Ok((StatusCode::PARTIAL_CONTENT, headers, part))
}

fn parse_hash(text: &str) -> Result<Hash, ApiError> {
    let not_found = |_| ApiError::new(Code::NotFound, format!("there is no artifact `{text}`"));
    text.parse().map_err(not_found)
}

/// The first and the last byte of one range; `None` for what is answered with all of them, as
/// RFC 9110 permits for every range.
fn parse_range(header: &str, size: usize) -> Option<(usize, usize)> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let end = size.checked_sub(1)?;
    let (first, last) = match (first.trim(), last.trim()) {
        ("", suffix) => (size.saturating_sub(suffix.parse().ok()?), end),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, last.parse::<usize>().ok()?.min(end)),
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::parse_range;

    #[test]
    fn one_range_is_understood_and_all_others_mean_everything() {
        for (header, range) in [
            ("bytes=0-0", Some((0, 0))),
            ("bytes=2-4", Some((2, 4))),
            ("bytes=2-", Some((2, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=-30", Some((0, 9))),
            ("bytes=8-99999", Some((8, 9))),
            ("bytes=10-", None),
            ("bytes=4-2", None),
            ("bytes=-0", None),
            ("bytes=0-1,3-4", None),
            ("bytes=a-b", None),
            ("lines=0-1", None),
            ("bytes=", None),
            ("bytes=99999999999999999999-", None),
        ] {
            assert_eq!(parse_range(header, 10), range, "{header}");
        }
        assert_eq!(parse_range("bytes=0-0", 0), None);
    }
}
