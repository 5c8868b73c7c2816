//! The embedded web UI.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderValue, IF_NONE_MATCH, VARY, X_FRAME_OPTIONS,
};
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use provost_proto::{Code, Hash};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::AppState;
use crate::api_error::ApiError;
use crate::preview::PreviewHosts;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct WebAssets;

/// Shown if the UI was not built; says how to build it.
const PLACEHOLDER_PAGE: &str = include_str!("../placeholder.html");

/// The page in which notebooks show HTML of programs.
const OUTPUT_FRAME: &str = "output-frame.html";

/// Its policy: an origin of its own that nothing can be read from, whatever else is in it. Its
/// scripts run, and connect to nothing.
const OUTPUT_FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; \
    script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// The policy of the UI's pages: connect to their own origin and show previews and outputs in
/// frames, and nothing else. The terminal and the editor need inline styles, notebooks their
/// WebAssembly module.
pub(crate) fn content_security_policy(previews: &PreviewHosts) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
         style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         frame-src 'self' {}",
        previews.frame_sources()
    )
}

/// Serves a file of the UI. Routes of the UI are in the fragment, so there is one page.
pub(crate) async fn serve_asset(
    State(app): State<Arc<AppState>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    // Compressed copies are served by content negotiation only.
    let plain = std::path::Path::new(path).extension().is_none_or(|extension| extension != "br");
    match WebAssets::get(path).filter(|_| plain) {
        Some(file) => respond_with_file(&app.ui_policy, path, file, &headers),
        None if path == "index.html" => {
            ([(CONTENT_SECURITY_POLICY, app.ui_policy.as_str())], Html(PLACEHOLDER_PAGE))
                .into_response()
        }
        None => ApiError::new(Code::NotFound, format!("no page at {}", uri.path())).into_response(),
    }
}

fn respond_with_file(
    policy: &str,
    path: &str,
    file: EmbeddedFile,
    request: &HeaderMap,
) -> Response {
    let etag = format!("\"{}\"", Hash::new(file.metadata.sha256_hash()));
    let is_immutable = path.starts_with("assets/");
    let mut headers = HeaderMap::new();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    // Names of files in assets/ contain their hash; the page's does not.
    let cache = if is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    set(CACHE_CONTROL, cache);
    set(ETAG, &etag);
    set(VARY, "accept-encoding");
    set(CONTENT_TYPE, content_type(path, &file));
    let is_output_frame = path == OUTPUT_FRAME;
    set(CONTENT_SECURITY_POLICY, if is_output_frame { OUTPUT_FRAME_POLICY } else { policy });
    if is_output_frame {
        set(X_FRAME_OPTIONS, "SAMEORIGIN");
    }
    let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    if known.flat_map(|list| list.split(',')).any(|tag| etag_matches(tag, &etag)) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let compressed =
        accepts_brotli(request).then(|| WebAssets::get(&format!("{path}.br"))).flatten();
    let body = match compressed {
        Some(brotli) => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
            brotli.data
        }
        None => file.data,
    };
    (headers, Body::from(body)).into_response()
}

fn etag_matches(given: &str, ours: &str) -> bool {
    let given = given.trim();
    given == "*" || given.strip_prefix("W/").unwrap_or(given) == ours
}

fn content_type<'a>(path: &str, file: &'a EmbeddedFile) -> &'a str {
    match path.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some(_) | None => file.metadata.mimetype(),
    }
}

fn accepts_brotli(request: &HeaderMap) -> bool {
    let values = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let refused = |q: &str| q.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0);
        parts.next() == Some("br") && !parts.any(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_is_sent_to_clients_that_accept_it() {
        for (header, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=0.5", true),
            ("br;q=0", false),
            ("gzip", false),
            ("brotli", false),
        ] {
            let mut request = HeaderMap::new();
            request.insert(ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(accepts_brotli(&request), expected, "{header}");
        }
    }
}
