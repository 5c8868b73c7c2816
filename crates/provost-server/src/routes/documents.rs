//! The documents of a page, and how they change.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use provost_gateway::DocumentSelection;
use provost_proto::{Code, DocumentCursor};
use serde::Deserialize;

use super::find_visible_project;
use super::sessions::parse_session_id;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireReaderLease;
use crate::middleware::extractors::Query;
use crate::stream::documents::stream_documents;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowDocumentsQuery {
    views: Option<String>,
    project: Option<String>,
    session: Option<String>,
    after: Option<String>,
}

/// Follow documents: those that are open or recent, then what becomes of them. `event: snapshot`
/// holds a part of the documents, `event: changes` those that changed, `event: live` says that
/// everything was sent, and `event: resync` that all must be dropped because a snapshot follows.
/// `Last-Event-ID` overrides `after`.
#[utoipa::path(get, path = "/api/documents", params(("views" = Option<String>, Query, description = "one or more, with commas; those of the page if absent"), ("project" = Option<String>, Query, description = "id or short name; only its documents"), ("session" = Option<String>, Query, description = "also the conversation of this session"), ("after" = Option<String>, Query, description = "the last `id` that was received"), ("Last-Event-ID" = Option<String>, Header)), responses((status = 200, content_type = "text/event-stream", body = provost_proto::DocumentChanges)))]
pub(crate) async fn follow(
    State(app): State<Arc<AppState>>,
    RequireReaderLease(reader, lease): RequireReaderLease,
    Query(which): Query<FollowDocumentsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::trim);
    let last = last.filter(|last| !last.is_empty()).or(which.after.as_deref());
    let after = last.map(str::parse::<DocumentCursor>).transpose();
    let after = after.map_err(|error| ApiError::new(Code::InvalidRequest, error.to_string()))?;
    let project = match &which.project {
        Some(name) => Some(find_visible_project(&app, &reader, name).await?.id),
        None => None,
    };
    let views = which.views.map(|views| {
        views
            .split(',')
            .map(|view| view.trim().to_owned())
            .filter(|view| !view.is_empty())
            .collect()
    });
    let session = which.session.as_deref().map(parse_session_id).transpose()?;
    let selection = DocumentSelection { views, project, session };
    let follower = app.gateway.documents.follow(&reader, selection, after).await?;
    Ok(stream_documents(app, lease, follower))
}
