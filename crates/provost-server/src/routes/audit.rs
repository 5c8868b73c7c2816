//! Reading and verifying the log.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_gateway::{AuditCursor, AuditFilter, GatewayError};
use provost_proto::{
    ActionId, AuditPage, AuditReport, EventBodies, LogCursor, Stream, UnixMicros, limits,
};
use provost_store::EventFilter;
use serde::Deserialize;

use super::JsonResult;
use super::events::{parse_actors, resolve_scope, split_list};
use crate::AppState;
use crate::middleware::auth::RequireReader;
use crate::middleware::extractors::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditQuery {
    stream: Option<Stream>,
    project: Option<String>,
    after: Option<LogCursor>,
    before: Option<LogCursor>,
    limit: Option<usize>,
    action: Option<String>,
    kind: Option<String>,
    principal: Option<String>,
    actor: Option<String>,
    session: Option<String>,
    text: Option<String>,
    since: Option<UnixMicros>,
    until: Option<UnixMicros>,
    /// What to send of bodies that are stored as blobs.
    #[serde(default)]
    bodies: EventBodies,
}

impl AuditQuery {
    fn to_cursor(&self) -> Result<AuditCursor, GatewayError> {
        match (self.after, self.before) {
            (Some(_), Some(_)) => {
                let why = "cannot be combined with `after`; choose one direction".to_owned();
                Err(GatewayError::InvalidField { field: "before", why })
            }
            (after, None) => Ok(AuditCursor::After(after.unwrap_or_default())),
            (None, Some(before)) => Ok(AuditCursor::Before(before)),
        }
    }

    fn into_filter(self) -> Result<AuditFilter, GatewayError> {
        let action = self.action.as_deref().map(str::parse::<ActionId>).transpose();
        let action = action.map_err(|error| GatewayError::InvalidField {
            field: "action",
            why: error.to_string(),
        })?;
        Ok(AuditFilter {
            action,
            kinds: split_list(self.kind.as_deref()).map(str::to_uppercase).collect(),
            principal: self.principal,
            actors: parse_actors(self.actor.as_deref())?,
            words: EventFilter::split_words(self.text.as_deref().unwrap_or_default()),
            since: self.since,
            until: self.until,
        })
    }
}

/// Read one page of the log, filtered by stream or project, by action with its approvals and
/// grants, by kind, by principal, actor or time. With `before`, the newest events come first.
/// A page may hold fewer events than `limit`; there are more as long as it has `next`.
#[utoipa::path(get, path = "/api/audit", params(("stream" = Option<String>, Query), ("project" = Option<String>, Query, description = "id or short name; its stream, and events of others that name it"), ("after" = Option<u64>, Query), ("before" = Option<u64>, Query), ("limit" = Option<usize>, Query), ("action" = Option<String>, Query), ("kind" = Option<String>, Query, description = "one or more, with commas"), ("principal" = Option<String>, Query), ("actor" = Option<String>, Query, description = "one or more, with commas"), ("session" = Option<String>, Query, description = "its stream"), ("text" = Option<String>, Query, description = "words that all occur, in any case"), ("since" = Option<u64>, Query, description = "microseconds since 1970"), ("until" = Option<u64>, Query), ("bodies" = Option<String>, Query, description = "large bodies and output: `stored` as a reference, `whole`, or `short` with their size only")), responses((status = 200, body = AuditPage)))]
pub(crate) async fn read_page(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Query(which): Query<AuditQuery>,
) -> JsonResult<AuditPage> {
    let (project, session) = (which.project.as_deref(), which.session.as_deref());
    let scope = resolve_scope(&app, &reader, which.stream, project, session).await?;
    let limit = which
        .limit
        .unwrap_or(limits::MAX_AUDIT_PAGE_EVENTS)
        .clamp(1, limits::MAX_AUDIT_PAGE_EVENTS);
    let (from, bodies) = (which.to_cursor()?, which.bodies);
    let page = app.gateway.audit.search(scope, from, limit, &which.into_filter()?).await?;
    Ok(Json(app.gateway.log.with_bodies(page, bodies).await?))
}

/// Verify the hash chain and report the first corrupt event.
#[utoipa::path(get, path = "/api/audit/verify", responses((status = 200, body = AuditReport)))]
pub(crate) async fn verify(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
) -> JsonResult<AuditReport> {
    reader.require_all_projects()?;
    Ok(Json(app.gateway.store().verify_log().await?))
}
