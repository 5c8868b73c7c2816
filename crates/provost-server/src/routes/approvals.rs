//! Approvals and grants.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_gateway::{GatewayError, OperatorRequest};
use provost_proto::{AnswerApprovalRequest, Approval, ApprovalList, Grant, GrantList};
use provost_store::{ListPosition, ParseListPositionError};
use serde::Deserialize;

use super::{JsonResult, find_visible_project};
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::{IdempotencyHeader, JsonBody, Path, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PagedListQuery {
    #[serde(default)]
    all: bool,
    before: Option<String>,
}

impl PagedListQuery {
    /// Whether more than what is open was asked for, and from where on.
    fn parse(&self) -> Result<(bool, Option<ListPosition>), ApiError> {
        let before = parse_list_position(self.before.as_deref())?;
        Ok((self.all || before.is_some(), before))
    }
}

/// Parses a position in a list.
pub(super) fn parse_list_position(text: Option<&str>) -> Result<Option<ListPosition>, ApiError> {
    let invalid = |error: ParseListPositionError| GatewayError::InvalidField {
        field: "before",
        why: error.to_string(),
    };
    Ok(text.map(str::parse).transpose().map_err(invalid)?)
}

/// List the pending approvals of all projects; with `all`, also the 50 that were resolved last.
/// `before` is `next` of the page before.
#[utoipa::path(get, path = "/api/approvals", params(("all" = Option<bool>, Query), ("before" = Option<String>, Query)), responses((status = 200, body = ApprovalList)))]
pub(crate) async fn list_all(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Query(which): Query<PagedListQuery>,
) -> JsonResult<ApprovalList> {
    let approvals = &app.gateway.approvals;
    Ok(Json(match which.parse()? {
        (true, before) => {
            let projects = app.gateway.projects.list_projects().await?;
            let ids = projects.into_iter().map(|project| project.id);
            let ids: Vec<_> = ids.filter(|id| reader.may_see(*id)).collect();
            approvals.list_all(&ids, before).await?
        }
        (false, _) => approvals.list_pending(|one| reader.may_see(one.project)).await?,
    }))
}

/// List the pending approvals of a project; with `all`, also the 50 that were resolved last.
/// `before` is `next` of the page before.
#[utoipa::path(get, path = "/api/projects/{p}/approvals", params(("p" = String, Path), ("all" = Option<bool>, Query), ("before" = Option<String>, Query)), responses((status = 200, body = ApprovalList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(which): Query<PagedListQuery>,
) -> JsonResult<ApprovalList> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let approvals = &app.gateway.approvals;
    Ok(Json(match which.parse()? {
        (true, before) => approvals.list_all(&[project.id], before).await?,
        (false, _) => approvals.list_pending(|one| one.project == project.id).await?,
    }))
}

/// Show one approval, pending or resolved.
#[utoipa::path(get, path = "/api/approvals/{id}", params(("id" = String, Path)), responses((status = 200, body = Approval)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(id): Path<String>,
) -> JsonResult<Approval> {
    let approval = app.gateway.approvals.get_approval(&id).await?;
    if reader.may_see(approval.project) {
        Ok(Json(approval))
    } else {
        Err(GatewayError::ItemNotFound { what: "question", name: id }.into())
    }
}

/// Answer an approval. The first valid answer counts; later ones get `APPROVAL_RESOLVED`.
#[utoipa::path(post, path = "/api/approvals/{id}", params(("id" = String, Path)), request_body = AnswerApprovalRequest, responses((status = 200, body = Approval)))]
pub(crate) async fn answer(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(id): Path<String>,
    JsonBody { value, command }: JsonBody<AnswerApprovalRequest>,
) -> JsonResult<Approval> {
    Ok(Json(
        app.gateway
            .approvals
            .answer_approval(OperatorRequest { by: &by, command }, &id, value)
            .await?,
    ))
}

/// List the active grants of a project; with `all`, also the 50 that ended last. `before` is
/// `next` of the page before.
#[utoipa::path(get, path = "/api/projects/{p}/grants", params(("p" = String, Path), ("all" = Option<bool>, Query), ("before" = Option<String>, Query)), responses((status = 200, body = GrantList)))]
pub(crate) async fn list_grants(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(which): Query<PagedListQuery>,
) -> JsonResult<GrantList> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let governance = &app.gateway.governance;
    Ok(Json(match which.parse()? {
        (true, before) => governance.list_all_grants(&project, before).await?,
        (false, _) => governance.list_valid_grants(&project).await?,
    }))
}

/// Show one grant, valid or ended.
#[utoipa::path(get, path = "/api/grants/{id}", params(("id" = String, Path)), responses((status = 200, body = Grant)))]
pub(crate) async fn show_grant(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(id): Path<String>,
) -> JsonResult<Grant> {
    let grant = app.gateway.governance.find_grant(&id).await?;
    if reader.may_see(grant.project) {
        Ok(Json(grant))
    } else {
        Err(GatewayError::ItemNotFound { what: "grant", name: id }.into())
    }
}

/// Revoke a grant.
#[utoipa::path(delete, path = "/api/grants/{id}", params(("id" = String, Path)), responses((status = 200, body = Grant)))]
pub(crate) async fn revoke_grant(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(id): Path<String>,
    IdempotencyHeader(command): IdempotencyHeader,
) -> JsonResult<Grant> {
    Ok(Json(app.gateway.governance.revoke_grant(OperatorRequest { by: &by, command }, &id).await?))
}
