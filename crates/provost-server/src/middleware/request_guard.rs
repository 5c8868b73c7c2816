//! The outermost middleware of every request: checks `Host` and `Origin`, assigns a request id,
//! logs, measures, and sets the headers of every response.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use provost_proto::Code;
use tracing::Instrument;

use crate::api_error::{ApiError, AttachedError};
use crate::error_page::render_error_page;
use crate::html::accepts_html;
use crate::routes::openapi;
use crate::{AppState, preview};

/// The accepted values of `Host`.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    port: u16,
    own: Vec<String>,
    /// Names that the operator added.
    allowed: Vec<String>,
}

impl AllowedHosts {
    /// The loopback names, and those that the operator added.
    pub(crate) fn new(listen: SocketAddr, allowed: &[String]) -> Self {
        let mut own: Vec<_> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into();
        if !listen.ip().is_unspecified() {
            let ip = SocketAddr::new(listen.ip(), 0).to_string();
            own.extend(ip.rsplit_once(':').map(|(ip, _)| ip.to_owned()));
        }
        Self { port: listen.port(), own, allowed: allowed.to_vec() }
    }

    /// Whether `host` names our listener at this port.
    fn is_allowed(&self, host: &str, listener_port: u16) -> bool {
        let matches = |known: &String, name: &str| known.eq_ignore_ascii_case(name);
        // Behind a proxy on a standard port, browsers omit the port.
        if self.allowed.iter().any(|known| matches(known, host)) {
            return true;
        }
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        port.parse() == Ok(listener_port)
            && self.own.iter().chain(&self.allowed).any(|known| matches(known, name))
    }

    /// Whether the operator added this name, with or without its port.
    fn is_operator_added(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        self.allowed
            .iter()
            .any(|known| [host, name].iter().any(|it| known.eq_ignore_ascii_case(it)))
    }
}

/// Checks, measures and logs one request.
pub(crate) async fn guard_request(
    State(app): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(selector) = find_preview_selector(&app, &request) {
        return preview::handle_request(app, selector, request).await;
    }
    let started = Instant::now();
    let id = app.gateway.clock().new_id::<provost_proto::EventId>().uuid().to_string();
    let method = request.method().clone();
    let uri = request.uri().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let as_page = accepts_html(&method, request.headers());
    // Not at the default level: the span would cost more than most requests.
    let span = tracing::debug_span!("request", id, %method, path = uri.path());

    let checked = check_host(&app.hosts, app.hosts.port, &request)
        .and_then(|host| check_origin(&app.hosts, host, &request));
    let mut response = match checked {
        Ok(()) => next.run(request).instrument(span.clone()).await,
        Err(error) => error.into_response(),
    };
    let status = response.status();
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    let code = response.extensions().get::<AttachedError>().map(|attached| attached.code);
    if app.checks_responses {
        openapi::check_response(&method, route, status, code);
    }
    let status = status.as_u16();
    app.meter.record_request(&method, route, status, started.elapsed());
    if let Some(AttachedError { code, error }) = response.extensions_mut().remove() {
        if response.status().is_server_error() {
            tracing::warn!(id, %method, path = uri.path(), %code, error, "a request failed");
        }
        if as_page {
            response = render_error_page(code, &error);
        }
    }
    span.in_scope(|| {
        tracing::debug!(status, micros = started.elapsed().as_micros(), "responded");
    });
    set_response_headers(response.headers_mut(), &id);
    response
}

/// The preview that a request is for, if it names a preview's host.
fn find_preview_selector(app: &AppState, request: &Request) -> Option<preview::PreviewSelector> {
    app.previews.parse_selector(named_host(request).ok().flatten()?)
}

/// The host that a request names, in its target, in `Host` or in both. An error if it names
/// two: RFC 9112 lets the target win, but then a program that goes by `Host` alone, such as a
/// proxy, would take the request for another one than this server does.
fn named_host(request: &Request) -> Result<Option<&str>, ()> {
    let header = single_header(request, &header::HOST)?;
    let target = request.uri().authority().map(Authority::as_str);
    match (target, header) {
        (Some(target), Some(header)) if !target.eq_ignore_ascii_case(header) => Err(()),
        (Some(host), _) | (None, Some(host)) => Ok(Some(host)),
        (None, None) => Ok(None),
    }
}

/// The value of a header that may occur once; an error if it occurs twice, since a proxy and
/// this server could then use different ones.
fn single_header<'a>(request: &'a Request, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = request.headers().get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Whether an `Origin` is this server under this very `Host`. The server speaks no TLS itself;
/// a proxy in front of it may, under a name that the operator added.
fn is_same_origin(hosts: &AllowedHosts, origin: &str, host: &str) -> bool {
    let authority = match origin.strip_prefix("https://") {
        Some(authority) if hosts.is_operator_added(host) => Some(authority),
        Some(_) => None,
        None => origin.strip_prefix("http://"),
    };
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The host that a request to the listener at this port names, if it is accepted.
pub(crate) fn check_host<'a>(
    hosts: &AllowedHosts,
    listener_port: u16,
    request: &'a Request,
) -> Result<&'a str, ApiError> {
    let unknown = || {
        let message = "unknown `Host`; use localhost, or start Provost with --allow-host";
        ApiError::new(Code::HostUnknown, message)
    };
    let host = named_host(request).map_err(|()| {
        ApiError::new(Code::HostUnknown, "a request must name exactly one host, in ASCII")
    })?;
    let host = host.ok_or_else(unknown)?;
    if hosts.is_allowed(host, listener_port) { Ok(host) } else { Err(unknown()) }
}

fn check_origin(hosts: &AllowedHosts, host: &str, request: &Request) -> Result<(), ApiError> {
    let forbidden = || {
        let message = "pages of other origins may not send requests to Provost";
        Err(ApiError::new(Code::OriginForbidden, message))
    };
    match single_header(request, &header::ORIGIN) {
        Ok(None) => {}
        Ok(Some(origin)) if is_same_origin(hosts, origin, host) => {}
        Ok(Some(_)) | Err(()) => return forbidden(),
    }
    if has_trusted_fetch_metadata(request) { Ok(()) } else { forbidden() }
}

/// Browsers omit `Origin` from some requests, such as those for images, but send
/// `Sec-Fetch-Site`. Another port of this machine is the same site, so `SameSite` cookies alone
/// do not protect.
fn has_trusted_fetch_metadata(request: &Request) -> bool {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => true,
        // Navigating to the UI or to a login link is harmless.
        Some(_) => {
            text("sec-fetch-mode") == Some("navigate")
                && text("sec-fetch-dest") == Some("document")
                && matches!(request.uri().path(), "/" | "/login")
        }
    }
}

fn set_response_headers(headers: &mut HeaderMap, id: &str) {
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_https_origin_is_same_origin_only_under_an_added_name() {
        let hosts =
            AllowedHosts::new(([127, 0, 0, 1], 3001).into(), &["provost.example".to_owned()]);
        for (origin, host, ours) in [
            ("http://localhost:3001", "localhost:3001", true),
            ("https://localhost:3001", "localhost:3001", false),
            ("https://127.0.0.1:3001", "127.0.0.1:3001", false),
            ("https://[::1]:3001", "[::1]:3001", false),
            ("http://provost.example", "provost.example", true),
            ("https://provost.example", "provost.example", true),
            ("https://PROVOST.example:3001", "provost.example:3001", true),
            ("https://provost.example", "provost.example:3001", false),
            ("https://evil.example", "provost.example", false),
        ] {
            assert_eq!(is_same_origin(&hosts, origin, host), ours, "{origin} at {host}");
        }
    }
}
