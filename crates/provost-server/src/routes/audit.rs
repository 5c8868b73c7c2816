//! Reading and verifying the log.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_proto::{AuditPage, AuditReport, Problem, Seq, Stream, limits};
use serde::Deserialize;

use super::Answer;
use crate::Door;
use crate::auth::Look;
use crate::body::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    stream: Option<Stream>,
    #[serde(default)]
    after: Seq,
    limit: Option<usize>,
}

/// One page of the log.
#[utoipa::path(get, path = "/api/audit", params(("stream" = Option<String>, Query), ("after" = Option<u64>, Query), ("limit" = Option<usize>, Query)), responses((status = 200, body = AuditPage), (status = 401, body = Problem)))]
pub(crate) async fn page(
    State(door): State<Arc<Door>>,
    Look(reader): Look,
    Query(which): Query<Which>,
) -> Answer<AuditPage> {
    let scope = reader.scope(which.stream)?;
    let limit = which.limit.unwrap_or(limits::AUDIT_PAGE).clamp(1, limits::AUDIT_PAGE);
    let page = door.gateway.store().read(scope, which.after, limit).await?;
    let events = page.events.iter().map(|event| event.event()).collect::<Result<Vec<_>, _>>()?;
    let next = events.last().filter(|_| events.len() == limit).map(|event| event.seq);
    Ok(Json(AuditPage { events, next }))
}

/// Walk the hash chain and name the first event that is not what it was.
#[utoipa::path(get, path = "/api/audit/verify", responses((status = 200, body = AuditReport), (status = 401, body = Problem)))]
pub(crate) async fn verify(
    State(door): State<Arc<Door>>,
    Look(reader): Look,
) -> Answer<AuditReport> {
    reader.whole()?;
    Ok(Json(door.gateway.store().verify().await?))
}
