//! The archive of the log.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_proto::{ArchiveLogRequest, ArchiveLogResult, LogSegmentList};

use super::JsonResult;
use crate::AppState;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::JsonBody;

/// Move events before a time into segment files, in whole blocks of 512 events. They are read as
/// before. Repeating the request is harmless.
#[utoipa::path(post, path = "/api/log/archive", request_body = ArchiveLogRequest, responses((status = 200, body = ArchiveLogResult)))]
pub(crate) async fn archive(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, .. }: JsonBody<ArchiveLogRequest>,
) -> JsonResult<ArchiveLogResult> {
    Ok(Json(app.gateway.archive.archive_before(&by, value.before).await?))
}

/// List the segment files of the log.
#[utoipa::path(get, path = "/api/log/segments", responses((status = 200, body = LogSegmentList)))]
pub(crate) async fn list_segments(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
) -> JsonResult<LogSegmentList> {
    reader.require_all_projects()?;
    Ok(Json(app.gateway.archive.list_segments().await?))
}
