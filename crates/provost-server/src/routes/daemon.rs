//! The daemon itself: health, metrics, shutdown.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use provost_proto::{Code, Health, LogCursor};
use serde::Deserialize;

use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::Query;
use crate::{AppState, VERSION};

/// Check the daemon's health. Needs no token.
#[utoipa::path(get, path = "/api/health", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn health(State(app): State<Arc<AppState>>) -> Result<Json<Health>, ApiError> {
    // A daemon that cannot write its log can do nothing, so it is unhealthy.
    match app.gateway.store().last_write_error() {
        None => Ok(Json(Health { status: "ok".to_owned(), version: VERSION.to_owned() })),
        Some(error) => {
            Err(ApiError::new(Code::Unavailable, format!("the log cannot be written: {error}")))
        }
    }
}

/// Metrics in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", responses((status = 200, body = String)))]
pub(crate) async fn metrics(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
) -> Result<impl IntoResponse, ApiError> {
    reader.require_all_projects()?;
    let events = app.gateway.store().head().events_since(LogCursor::START);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], app.meter.render(events)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShutdownQuery {
    #[serde(default)]
    keep: bool,
}

/// Stop the daemon and its kernels; with `keep` the kernels keep running.
#[utoipa::path(post, path = "/api/shutdown", params(("keep" = Option<bool>, Query)), responses((status = 202)))]
pub(crate) async fn shutdown(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Query(ShutdownQuery { keep }): Query<ShutdownQuery>,
) -> StatusCode {
    if !keep {
        app.gateway.kernels.stop_kernels().await;
    }
    app.closing.cancel();
    StatusCode::ACCEPTED
}
