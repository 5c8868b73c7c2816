//! Login links for browsers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use provost_proto::LoginLink;
use serde::Deserialize;

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireOperator;
use crate::middleware::extractors::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginQuery {
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkQuery {
    project: Option<String>,
}

/// Create a link that logs one browser in, once. With `project`, the browser then shows that
/// project.
#[utoipa::path(post, path = "/api/login-links", params(("project" = Option<String>, Query)), responses((status = 200, body = LoginLink)))]
pub(crate) async fn create_link(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Query(LinkQuery { project }): Query<LinkQuery>,
) -> JsonResult<LoginLink> {
    let project = match project {
        Some(name) => Some(app.gateway.projects.get_project(&name).await?.slug),
        None => None,
    };
    let (code, minutes) = app.gateway.auth.create_login_code(&by, project)?;
    Ok(Json(LoginLink { path: format!("/login?code={}", code.reveal()), minutes }))
}

/// Redeem a login link: sets a cookie and redirects to the page with its half of the login in
/// the fragment, which browsers do not send.
#[utoipa::path(get, path = "/login", security(()), params(("code" = String, Query)), responses((status = 303)))]
pub(crate) async fn log_in(
    State(app): State<Arc<AppState>>,
    method: Method,
    Query(LoginQuery { code }): Query<LoginQuery>,
) -> Result<impl IntoResponse, ApiError> {
    // Link previewers send HEAD, which must not use up a link.
    if method != Method::GET {
        let error = format!("/login does not take {method}");
        return Err(ApiError::new(provost_proto::Code::MethodNotAllowed, error));
    }
    let browser = app.gateway.auth.redeem_login_code(&code).await?;
    let cookie = format!(
        "{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        app.cookie,
        browser.cookie.reveal(),
        u64::from(browser.minutes) * 60,
    );
    // The page removes its half from the address and keeps the route behind it.
    let route =
        browser.project.map(|slug| format!("/projects/{slug}/timeline")).unwrap_or_default();
    let location = format!("/#page={}{route}", browser.page.reveal());
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, location)]))
}
