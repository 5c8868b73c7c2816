//! Governance of a project: mode, roles, rules and trusted files.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_gateway::OperatorRequest;
use provost_proto::{
    ChangeRoleRequest, ExplainPolicyRequest, PolicyExplanation, PolicySimulation, PolicyView,
    ProjectModeView, RoleList, RoleView, SetModeRequest, SimulatePolicyRequest, TrustFileRequest,
    TrustedFile,
};

use super::{JsonResult, find_visible_project};
use crate::AppState;
use crate::middleware::auth::{RequireOperator, RequireReader};
use crate::middleware::extractors::{JsonBody, Path};

/// Show a project's mode.
#[utoipa::path(get, path = "/api/projects/{p}/mode", params(("p" = String, Path)), responses((status = 200, body = ProjectModeView)))]
pub(crate) async fn show_mode(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<ProjectModeView> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(app.gateway.governance.get_mode_view(&project)?))
}

/// Set a project's mode. `full` always expires: after 60 minutes if the request does not say.
#[utoipa::path(put, path = "/api/projects/{p}/mode", params(("p" = String, Path)), request_body = SetModeRequest, responses((status = 200, body = ProjectModeView)))]
pub(crate) async fn set_mode(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
    JsonBody { value, command }: JsonBody<SetModeRequest>,
) -> JsonResult<ProjectModeView> {
    let project = app.gateway.projects.get_project(&name).await?;
    Ok(Json(
        app.gateway
            .governance
            .set_mode(OperatorRequest { by: &by, command }, &project, value)
            .await?,
    ))
}

/// List a project's roles, trusted or not, and the files that are not valid roles.
#[utoipa::path(get, path = "/api/projects/{p}/roles", params(("p" = String, Path)), responses((status = 200, body = RoleList)))]
pub(crate) async fn list_roles(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<RoleList> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(app.gateway.governance.list_roles(&project).await?))
}

/// Change a role's model. The rest of its file is unchanged.
#[utoipa::path(patch, path = "/api/projects/{p}/roles/{role}", params(("p" = String, Path), ("role" = String, Path)), request_body = ChangeRoleRequest, responses((status = 200, body = RoleView)))]
pub(crate) async fn change_role(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path((name, role)): Path<(String, String)>,
    JsonBody { value, command }: JsonBody<ChangeRoleRequest>,
) -> JsonResult<RoleView> {
    let project = app.gateway.projects.get_project(&name).await?;
    let request = OperatorRequest { by: &by, command };
    Ok(Json(app.gateway.trust.change_role_model(request, &project, &role, value).await?))
}

/// Trust a governance file with exactly the given hash.
#[utoipa::path(post, path = "/api/projects/{p}/trust", params(("p" = String, Path)), request_body = TrustFileRequest, responses((status = 200, body = TrustedFile)))]
pub(crate) async fn trust_file(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
    JsonBody { value, command }: JsonBody<TrustFileRequest>,
) -> JsonResult<TrustedFile> {
    let project = app.gateway.projects.get_project(&name).await?;
    Ok(Json(
        app.gateway.trust.trust_file(OperatorRequest { by: &by, command }, &project, value).await?,
    ))
}

/// Show a project's rules of all layers.
#[utoipa::path(get, path = "/api/projects/{p}/policy", params(("p" = String, Path)), responses((status = 200, body = PolicyView)))]
pub(crate) async fn show_policy(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
) -> JsonResult<PolicyView> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(app.gateway.governance.get_policy_view(&project).await?))
}

/// Explain what would be decided about an action, and why. Nothing is requested or run.
#[utoipa::path(post, path = "/api/projects/{p}/policy/explain", params(("p" = String, Path)), request_body = ExplainPolicyRequest, responses((status = 200, body = PolicyExplanation)))]
pub(crate) async fn explain_policy(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    JsonBody { value, .. }: JsonBody<ExplainPolicyRequest>,
) -> JsonResult<PolicyExplanation> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(app.gateway.decisions.explain_decision(&project, value).await?))
}

/// Simulate a changed rules file: list the past requests that it would have decided otherwise.
#[utoipa::path(post, path = "/api/projects/{p}/policy/simulate", params(("p" = String, Path)), request_body = SimulatePolicyRequest, responses((status = 200, body = PolicySimulation)))]
pub(crate) async fn simulate_policy(
    State(app): State<Arc<AppState>>,
    RequireReader(reader): RequireReader,
    Path(name): Path<String>,
    JsonBody { value, .. }: JsonBody<SimulatePolicyRequest>,
) -> JsonResult<PolicySimulation> {
    let project = find_visible_project(&app, &reader, &name).await?;
    Ok(Json(app.gateway.decisions.simulate_policy(&project, value).await?))
}
