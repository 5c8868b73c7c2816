//! Tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use provost_gateway::OperatorRequest;
use provost_proto::{CreateTokenRequest, CreatedToken, TokenList};

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireOperator;
use crate::middleware::extractors::{JsonBody, Path};

/// List the valid tokens.
#[utoipa::path(get, path = "/api/tokens", responses((status = 200, body = TokenList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
) -> Json<TokenList> {
    Json(TokenList { tokens: app.gateway.auth.list_tokens(&by) })
}

/// Create a token. Its secret is shown only in this response.
#[utoipa::path(post, path = "/api/tokens", request_body = CreateTokenRequest, responses((status = 200, body = CreatedToken)))]
pub(crate) async fn create(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<CreateTokenRequest>,
) -> JsonResult<CreatedToken> {
    let (secret, entry) =
        app.gateway.auth.create_token(OperatorRequest { by: &by, command }, value).await?;
    Ok(Json(CreatedToken { token: secret.reveal().to_owned(), entry }))
}

/// Revoke a token.
#[utoipa::path(delete, path = "/api/tokens/{id}", params(("id" = String, Path)), responses((status = 204)))]
pub(crate) async fn revoke(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.gateway.auth.revoke_token(&by, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
