//! Blobs: bodies that are too large for the log.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use provost_proto::{Code, Hash};

use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireReader;
use crate::middleware::extractors::Path;

/// Get the bytes with this hash.
#[utoipa::path(get, path = "/api/blobs/{hash}", params(("hash" = String, Path)), responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>)))]
pub(crate) async fn get(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(hash): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    // Blobs belong to no project, so a token of one project may not fetch them.
    reader.require_all_projects()?;
    let not_found = || ApiError::new(Code::NotFound, format!("no blob {hash}"));
    let address: Hash = hash.parse().map_err(|_| not_found())?;
    let bytes = app.gateway.store().get_blob(address).await?.ok_or_else(not_found)?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    Ok((headers, bytes))
}
