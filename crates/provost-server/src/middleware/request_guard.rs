//! What stands before every route: a known `Host`, an `Origin` of ours, a
//! request id, a log line, a measurement, and the headers of every answer.

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

use crate::api_error::{ApiError, LoggedServerError};
use crate::{AppState, preview};

/// The names under which we may be called.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    port: u16,
    own: Vec<String>,
    /// What the operator added.
    allowed: Vec<String>,
}

impl AllowedHosts {
    /// The loopback names, and what the operator added.
    pub(crate) fn new(listen: SocketAddr, allowed: &[String]) -> Self {
        let mut own: Vec<_> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into();
        if !listen.ip().is_unspecified() {
            let ip = SocketAddr::new(listen.ip(), 0).to_string();
            own.extend(ip.rsplit_once(':').map(|(ip, _)| ip.to_owned()));
        }
        Self { port: listen.port(), own, allowed: allowed.to_vec() }
    }

    /// Whether a listener of ours at this port is called so.
    fn is_allowed(&self, host: &str, at: u16) -> bool {
        let is = |known: &String, name: &str| known.eq_ignore_ascii_case(name);
        // Behind a proxy on a standard port, browsers leave the port out.
        if self.allowed.iter().any(|known| is(known, host)) {
            return true;
        }
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        port.parse() == Ok(at) && self.own.iter().chain(&self.allowed).any(|known| is(known, name))
    }

    /// Whether the operator added this name, with or without its port.
    fn is_operator_added(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        self.allowed
            .iter()
            .any(|known| [host, name].iter().any(|it| known.eq_ignore_ascii_case(it)))
    }
}

/// Checks, times and logs one request.
pub(crate) async fn guard_request(
    State(door): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(place) = find_preview_selector(&door, &request) {
        return preview::handle_request(door, place, request).await;
    }
    let started = Instant::now();
    let id = door.gateway.clock().new_id::<provost_proto::EventId>().uuid().to_string();
    let method = request.method().clone();
    let uri = request.uri().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    // At the usual level there is none: it would cost more than most that it could tell of.
    let span = tracing::debug_span!("request", id, %method, path = uri.path());

    let checked = check_host(&door.hosts, door.hosts.port, &request)
        .and_then(|host| check_origin(&door.hosts, host, &request));
    let mut response = match checked {
        Ok(()) => next.run(request).instrument(span.clone()).await,
        Err(failure) => failure.into_response(),
    };
    let status = response.status().as_u16();
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    door.meter.record_request(&method, route, status, started.elapsed());
    if let Some(LoggedServerError { code, error }) = response.extensions_mut().remove() {
        tracing::warn!(id, %method, path = uri.path(), %code, error, "a request failed");
    }
    span.in_scope(|| {
        tracing::debug!(status, micros = started.elapsed().as_micros(), "answered");
    });
    set_response_headers(response.headers_mut(), &id);
    response
}

/// What a request asks to see, if its one `Host` is that of a preview. What names
/// two hosts is no preview's, and is refused below.
fn find_preview_selector(door: &AppState, request: &Request) -> Option<preview::PreviewSelector> {
    let host = single_header(request, &header::HOST).ok().flatten();
    let target = request.uri().authority().map(Authority::as_str);
    match (target, host) {
        (Some(target), Some(host)) if target != host => None,
        (Some(name), _) | (None, Some(name)) => door.previews.parse_selector(name),
        (None, None) => None,
    }
}

/// The value of a header that may be there once; an error if it is there twice,
/// since a proxy and we could then go by different ones.
fn single_header<'a>(request: &'a Request, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = request.headers().get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Whether an `Origin` is the page that was asked for under this very `Host`. We speak no
/// TLS ourselves; what stands before us does, under a name that the operator added.
fn is_same_origin(hosts: &AllowedHosts, origin: &str, host: &str) -> bool {
    let place = match origin.strip_prefix("https://") {
        Some(place) if hosts.is_operator_added(host) => Some(place),
        Some(_) => None,
        None => origin.strip_prefix("http://"),
    };
    place.is_some_and(|place| place.eq_ignore_ascii_case(host))
}

/// The name under which a listener at this port was called, if we are known by it.
pub(crate) fn check_host<'a>(
    hosts: &AllowedHosts,
    at: u16,
    request: &'a Request,
) -> Result<&'a str, ApiError> {
    let unknown = || {
        let why = "Provost is not known by this name; call it as localhost, or start it with \
                   --allow-host";
        ApiError::new(Code::HostUnknown, why)
    };
    let host = single_header(request, &header::HOST).map_err(|()| {
        ApiError::new(Code::HostUnknown, "a request has one `Host`, in plain characters")
    })?;
    // HTTP/2 and absolute-form requests name the host in the target.
    let host = request.uri().authority().map(Authority::as_str).or(host).ok_or_else(unknown)?;
    if hosts.is_allowed(host, at) { Ok(host) } else { Err(unknown()) }
}

fn check_origin(hosts: &AllowedHosts, host: &str, request: &Request) -> Result<(), ApiError> {
    let foreign = || {
        let why = "pages of other origins may not talk to Provost";
        Err(ApiError::new(Code::OriginForbidden, why))
    };
    match single_header(request, &header::ORIGIN) {
        Ok(None) => {}
        Ok(Some(origin)) if is_same_origin(hosts, origin, host) => {}
        Ok(Some(_)) | Err(()) => return foreign(),
    }
    if has_trusted_fetch_metadata(request) { Ok(()) } else { foreign() }
}

/// Browsers leave `Origin` out of some requests, such as those for images, but
/// say where a request comes from in `Sec-Fetch-Site`. Another port of this
/// machine is the same site, so `SameSite` cookies alone would not do.
fn has_trusted_fetch_metadata(request: &Request) -> bool {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => true,
        // Following a link to our page, or the login link, is harmless.
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
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
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
    fn a_page_over_tls_is_ours_only_under_a_name_that_was_added() {
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
