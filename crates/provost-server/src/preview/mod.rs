//! Previews: a proxy to what projects serve, each project under an origin of its own.
//!
//! A request whose `Host` is a preview's never reaches a route of Provost, and no other request
//! gets here. On a preview's origin only `/.provost/` belongs to Provost: redeeming a code for
//! a cookie, and what the status page needs.

mod forward;
mod preview_hosts;
mod preview_listeners;
mod proxy_headers;
mod status_page;

use std::sync::Arc;

use axum::extract::{Query, Request};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use provost_core::redact::contains_own_token;
use provost_gateway::{IssuedPreviewCookie, TokenLease, VerifiedPreviewCookie};
use provost_proto::runtime::{ListeningPort, PreviewStatus, PreviewView};
use provost_proto::{Project, ProjectId};
use serde::Deserialize;

use crate::AppState;
use crate::middleware::auth::identify_client;
use crate::middleware::connection_table::ClientTrust;
pub(crate) use preview_hosts::{PreviewHosts, PreviewSelector, RESERVED_PATH_PREFIX};
pub use preview_listeners::preview_ports;
pub(crate) use preview_listeners::{NewPreviewListener, PreviewListeners};
use proxy_headers::PREVIEW_COOKIES;

/// Handles a request to a preview. Only Provost's own pages may show the response in a frame.
pub(crate) async fn handle_request(
    app: Arc<AppState>,
    selector: PreviewSelector,
    request: Request,
) -> Response {
    let ancestors = HeaderValue::try_from(app.previews.frame_ancestors());
    let mut response = dispatch_request(app, selector, request).await;
    if let Ok(ancestors) = ancestors {
        response.headers_mut().append(CONTENT_SECURITY_POLICY, ancestors);
    }
    response
}

async fn dispatch_request(
    app: Arc<AppState>,
    selector: PreviewSelector,
    request: Request,
) -> Response {
    let path = request.uri().path();
    if path == format!("{RESERVED_PATH_PREFIX}enter") {
        return redeem_code(&app, &selector, &request);
    }
    if path == format!("{RESERVED_PATH_PREFIX}wait.js") {
        return status_page::respond_script();
    }
    let Some(AuthorizedPreview { project, port, lease }) =
        authorize_preview(&app, &selector, request.headers())
    else {
        return status_page::respond_unauthorized();
    };
    if let Err(error) = identify_client(request.extensions(), ClientTrust::Known) {
        return error.into_response();
    }
    if is_mutating(&request) && is_cross_origin(&app, &selector, request.headers()) {
        let message = "a page of another origin may not change anything on this preview\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    // What a page's address holds, its server logs; and removing a part would change the request.
    if contains_own_token(request.uri().to_string().as_bytes()) {
        let message = "the address contains a token of Provost, which no project may see\n";
        return (StatusCode::BAD_REQUEST, message).into_response();
    }
    let view = match app.gateway.runtime.runtime_view(project.id).await {
        Ok((view, _)) => view,
        Err(error) => return status_page::respond_internal_error(&error.to_string()),
    };
    let open = select_port(&view.preview, port).cloned();
    if path == format!("{RESERVED_PATH_PREFIX}state") {
        return status_page::respond_state(&view, open.as_ref());
    }
    if path.starts_with(RESERVED_PATH_PREFIX) {
        return (StatusCode::NOT_FOUND, "not found\n").into_response();
    }
    match open {
        Some(open) => forward::forward_request(&app, &view, &open, request, lease).await,
        None => status_page::respond_unavailable(&view, port, &request),
    }
}

/// The requested port, if a process of the project listens on it.
fn select_port(preview: &PreviewView, port: Option<u16>) -> Option<&ListeningPort> {
    let listens = matches!(preview.status, PreviewStatus::Detected | PreviewStatus::Ready);
    let wanted = port.or(preview.port.filter(|_| listens))?;
    preview.ports.iter().find(|open| open.port == wanted)
}

/// The preview that a request may access.
struct AuthorizedPreview {
    project: Project,
    port: Option<u16>,
    /// Ends an upgraded connection when the token is revoked.
    lease: TokenLease,
}

/// The preview that a request may access by one of its cookies.
fn authorize_preview(
    app: &AppState,
    selector: &PreviewSelector,
    headers: &HeaderMap,
) -> Option<AuthorizedPreview> {
    preview_cookies(headers).find_map(|cookie| {
        let VerifiedPreviewCookie { project: id, port: cookie_port, lease } =
            app.gateway.preview.verify_preview_cookie(cookie)?;
        match selector {
            PreviewSelector::BySlug { slug, port } => {
                let project = app.gateway.governance.find_open_project_named(slug)?;
                (project.id == id).then_some(AuthorizedPreview { project, port: *port, lease })
            }
            PreviewSelector::ByPort { project: own, .. } => {
                let project = app.gateway.governance.find_open_project(*own)?;
                (project.id == id).then_some(AuthorizedPreview {
                    project,
                    port: cookie_port,
                    lease,
                })
            }
        }
    })
}

/// Whether a request may change something: an unsafe method, or an upgrade, to which browsers
/// do not apply the same-origin policy.
fn is_mutating(request: &Request) -> bool {
    !request.method().is_safe() || request.headers().contains_key(UPGRADE)
}

/// Whether a request comes from a page of another project or site. The cookie alone does not
/// tell: browsers send it with requests of every page in our frames.
fn is_cross_origin(app: &AppState, selector: &PreviewSelector, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match (headers.contains_key(ORIGIN), text(ORIGIN), text(HOST)) {
        (false, ..) => false,
        (true, Some(origin), Some(host)) => !app.previews.is_same_project(selector, host, origin),
        (true, None, _) | (true, _, None) => true,
    }
}

fn preview_cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.starts_with(PREVIEW_COOKIES[0]).then_some(value)
    })
}

/// The query of `/.provost/enter`.
#[derive(Deserialize)]
struct EnterQuery {
    code: String,
    /// The path to open afterwards.
    to: Option<String>,
}

/// Whether this is a path on this origin: browsers read `//` and `/\` as another host, and
/// ignore tabs and newlines in between.
fn is_local_path(to: &str) -> bool {
    let mut bytes = to.bytes();
    bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\'))
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Redeems a code for cookies and redirects to the page.
fn redeem_code(app: &AppState, selector: &PreviewSelector, request: &Request) -> Response {
    let Ok(Query(EnterQuery { code, to })) = Query::try_from_uri(request.uri()) else {
        return status_page::respond_unauthorized();
    };
    let shown = app.gateway.preview.redeem_preview_code(&code);
    let Some(shown) = shown.filter(|shown| code_matches_selector(app, selector, shown.project))
    else {
        return status_page::respond_unauthorized();
    };
    let IssuedPreviewCookie { cookie, minutes, .. } = shown;
    let seconds = u64::from(minutes) * 60;
    let value = cookie.reveal();
    // Browsers share cookies between ports of a host, so the name contains the listener's port.
    let mark = match selector {
        PreviewSelector::BySlug { .. } => String::new(),
        PreviewSelector::ByPort { at, .. } => format!("_{at}"),
    };
    let base = |name: &str| format!("{name}{mark}={value}; HttpOnly; Path=/; Max-Age={seconds}");
    // To the browser, a preview in a frame of the UI is another site, to which it sends only
    // cookies with `SameSite=None`; not every browser accepts those without TLS, so there are
    // two.
    let both = [
        format!("{}; SameSite=Lax", base(PREVIEW_COOKIES[0])),
        format!("{}; SameSite=None; Secure; Partitioned", base(PREVIEW_COOKIES[1])),
    ];
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    for cookie in both {
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.append(SET_COOKIE, cookie);
        }
    }
    let location = to.filter(|to| is_local_path(to)).and_then(|to| HeaderValue::try_from(to).ok());
    headers.insert(LOCATION, location.unwrap_or(HeaderValue::from_static("/")));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

/// Whether a code is for the project of this origin.
fn code_matches_selector(app: &AppState, selector: &PreviewSelector, id: ProjectId) -> bool {
    match selector {
        PreviewSelector::BySlug { slug, .. } => app
            .gateway
            .governance
            .find_open_project_named(slug)
            .is_some_and(|project| project.id == id),
        PreviewSelector::ByPort { project, .. } => {
            *project == id && app.gateway.governance.find_open_project(id).is_some()
        }
    }
}

/// The `Host` of a request, as a browser sends it.
fn request_host(request: &Request) -> String {
    let named = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let header = || request.headers().get(HOST)?.to_str().ok().map(str::to_owned);
    named.or_else(header).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redirect_stays_on_the_previews_origin() {
        for (to, expected) in [
            ("/", true),
            ("/a/b?c=d#e", true),
            ("/%2F%2Fevil.example", true),
            ("", false),
            ("a", false),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("/\t/evil.example", false),
            ("/a\r\nset-cookie: x=y", false),
            ("http://evil.example/", false),
            ("/é", false),
        ] {
            assert_eq!(is_local_path(to), expected, "{to:?}");
        }
    }
}
