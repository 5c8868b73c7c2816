//! Approvals and grants.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_gateway::{GatewayError, OperatorRequest};
use provost_proto::{AnswerApprovalRequest, Approval, ApprovalList, Grant, GrantList};
use serde::Deserialize;

use super::{JsonResult, find_visible_project};
use crate::AppState;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::{IdempotencyHeader, JsonBody, Path, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalListQuery {
    #[serde(default)]
    all: bool,
}

/// List the pending approvals of all projects; with `all`, the resolved ones too.
#[utoipa::path(get, path = "/api/approvals", params(("all" = Option<bool>, Query)), responses((status = 200, body = ApprovalList)))]
pub(crate) async fn list_all(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Query(ApprovalListQuery { all }): Query<ApprovalListQuery>,
) -> JsonResult<ApprovalList> {
    let wanted = |approval: &Approval| reader.may_see(approval.project);
    Ok(Json(app.gateway.approvals.list_approvals(wanted, all).await?))
}

/// List the pending approvals of a project; with `all`, the resolved ones too.
#[utoipa::path(get, path = "/api/projects/{p}/approvals", params(("p" = String, Path), ("all" = Option<bool>, Query)), responses((status = 200, body = ApprovalList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(ApprovalListQuery { all }): Query<ApprovalListQuery>,
) -> JsonResult<ApprovalList> {
    let project = find_visible_project(&app, &reader, &name).await?;
    let wanted = |approval: &Approval| approval.project == project.id;
    Ok(Json(app.gateway.approvals.list_approvals(wanted, all).await?))
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

/// List the active grants of a project; with `all`, the ended ones too.
#[utoipa::path(get, path = "/api/projects/{p}/grants", params(("p" = String, Path), ("all" = Option<bool>, Query)), responses((status = 200, body = GrantList)))]
pub(crate) async fn list_grants(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    Query(ApprovalListQuery { all }): Query<ApprovalListQuery>,
) -> JsonResult<GrantList> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(GrantList { grants: app.gateway.governance.list_grants(&project, all).await? }))
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
