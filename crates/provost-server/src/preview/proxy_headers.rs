//! Rewrites headers between a browser and a project's server.
//!
//! Provost's cookies and tokens never reach the project's server. Hop-by-hop headers pass in
//! neither direction.

use axum::http::header::{
    self, AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION,
    ORIGIN, REFERER, SET_COOKIE, UPGRADE,
};
use provost_core::redact::contains_own_token;
use provost_gateway::Gateway;

/// Tells a browser to clear data of a host, on all its ports.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// The cookies of a preview; the second is for a preview in a frame of the UI. The first is a
/// prefix of all names.
pub(super) const PREVIEW_COOKIES: [&str; 2] = ["provost_preview", "provost_preview_framed"];

/// Headers that apply to one connection only.
const HOP_BY_HOP_HEADERS: &[HeaderName] = &[
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers of proxies about the client. Those of the browser are not trusted and replaced.
const FORWARDED_HEADERS: &[&str] = &[
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Both ends of the proxy.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProxyEndpoints<'a> {
    /// The host that the browser uses.
    pub(super) host: &'a str,
    /// The port of the project's server.
    pub(super) port: u16,
}

impl ProxyEndpoints<'_> {
    /// The `Host` for the project's server: the browser's if it ends in `.localhost`, which dev
    /// servers accept, and otherwise its own address.
    fn upstream_host(&self) -> String {
        let name = self.host.rsplit_once(':').map_or(self.host, |(name, _)| name);
        if name.to_ascii_lowercase().ends_with(".localhost") {
            self.host.to_owned()
        } else {
            format!("localhost:{}", self.port)
        }
    }
}

/// Removes hop-by-hop headers; returns the protocol of a requested upgrade.
pub(super) fn strip_hop_headers(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let upgrade = headers.get(UPGRADE).filter(|_| listed.contains(&UPGRADE)).cloned();
    for name in listed.iter().chain(HOP_BY_HOP_HEADERS) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
    upgrade
}

/// Rewrites the headers of a request for the project's server.
pub(super) fn rewrite_request_headers(
    headers: &mut HeaderMap,
    gateway: &Gateway,
    ends: ProxyEndpoints<'_>,
) {
    strip_own_cookies(headers);
    headers.remove(crate::middleware::auth::PAGE_SECRET_HEADER);
    strip_own_tokens(headers, gateway);
    for name in FORWARDED_HEADERS {
        headers.remove(*name);
    }
    let upstream = ends.upstream_host();
    let ours = format!("http://{}", ends.host);
    for name in [ORIGIN, REFERER] {
        let text = headers.get(&name).and_then(|value| value.to_str().ok());
        let same = text.and_then(|text| text.strip_prefix(&ours)).map(str::to_owned);
        if let Some(rest) = same {
            set_header(headers, name, &format!("http://{upstream}{rest}"));
        }
    }
    set_header(headers, HOST, &upstream);
    set_header(headers, HeaderName::from_static("x-forwarded-host"), ends.host);
    set_header(headers, HeaderName::from_static("x-forwarded-proto"), "http");
    set_header(headers, HeaderName::from_static("x-forwarded-for"), "127.0.0.1");
    if let Some((_, port)) = ends.host.rsplit_once(':') {
        set_header(headers, HeaderName::from_static("x-forwarded-port"), port);
    }
}

/// Removes every header with a token of Provost, whatever its name.
fn strip_own_tokens(headers: &mut HeaderMap, gateway: &Gateway) {
    let is_own = |value: &HeaderValue| match value.to_str() {
        Ok(text) => {
            let token = text.split_once(' ').map_or(text, |(_, token)| token.trim());
            gateway.auth.is_own_token(token)
        }
        Err(_) => true,
    };
    if headers.get_all(AUTHORIZATION).iter().any(is_own) {
        headers.remove(AUTHORIZATION);
    }
    let has_token = |(name, value): (&HeaderName, &HeaderValue)| {
        let found = contains_own_token(value.as_bytes()) || contains_own_token(name.as_ref());
        found.then(|| name.clone())
    };
    let names: Vec<HeaderName> = headers.iter().filter_map(has_token).collect();
    for name in names {
        headers.remove(name);
    }
}

/// Rewrites the headers of a response for the browser.
pub(super) fn rewrite_response_headers(headers: &mut HeaderMap, ends: ProxyEndpoints<'_>) {
    let moved = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    if let Some(location) = moved.and_then(|location| map_location(location, ends)) {
        set_header(headers, LOCATION, &location);
    }
    let cookies: Vec<HeaderValue> =
        headers.get_all(SET_COOKIE).iter().filter_map(strip_cookie_domain).collect();
    headers.remove(SET_COOKIE);
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie);
    }
    // It would clear Provost's cookies on the same host too.
    headers.remove(CLEAR_SITE_DATA);
    // Provost decides which pages may frame a preview.
    headers.remove(header::X_FRAME_OPTIONS);
    let policies: Vec<String> = headers
        .get_all(header::CONTENT_SECURITY_POLICY)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(strip_frame_ancestors)
        .filter(|policy| !policy.is_empty())
        .collect();
    headers.remove(header::CONTENT_SECURITY_POLICY);
    for policy in policies {
        if let Ok(value) = HeaderValue::try_from(policy) {
            headers.append(header::CONTENT_SECURITY_POLICY, value);
        }
    }
}

fn set_header(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    match HeaderValue::from_str(value) {
        Ok(value) => drop(headers.insert(name, value)),
        Err(_) => drop(headers.remove(name)),
    }
}

/// Removes all cookies with a name of Provost.
fn strip_own_cookies(headers: &mut HeaderMap) {
    let kept: Vec<String> = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .map(str::trim)
        .filter(|pair| !pair.to_ascii_lowercase().starts_with("provost_"))
        .filter(|pair| !pair.is_empty())
        .map(str::to_owned)
        .collect();
    headers.remove(COOKIE);
    if !kept.is_empty() {
        set_header(headers, COOKIE, &kept.join("; "));
    }
}

/// Maps a URL on the project's server to the preview.
fn map_location(location: &str, ends: ProxyEndpoints<'_>) -> Option<String> {
    let port = ends.port;
    let names = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"];
    names.iter().find_map(|name| {
        let rest = location.strip_prefix(&format!("http://{name}:{port}"))?;
        let whole = rest.is_empty() || rest.starts_with(['/', '?', '#']);
        whole.then(|| format!("http://{}{rest}", ends.host))
    })
}

/// Limits a cookie to the preview's host; drops one with a name of Provost.
fn strip_cookie_domain(cookie: &HeaderValue) -> Option<HeaderValue> {
    let Ok(text) = cookie.to_str() else { return Some(cookie.clone()) };
    if text.trim_start().to_ascii_lowercase().starts_with("provost_") {
        return None;
    }
    let domain = |part: &&str| !part.trim().to_ascii_lowercase().starts_with("domain=");
    let kept: Vec<&str> = text.split(';').filter(domain).collect();
    HeaderValue::from_str(&kept.join(";")).ok()
}

fn strip_frame_ancestors(policy: &str) -> String {
    let frames = |part: &&str| !part.trim().to_ascii_lowercase().starts_with("frame-ancestors");
    policy.split(';').filter(frames).collect::<Vec<_>>().join(";").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: ProxyEndpoints<'_> = ProxyEndpoints { host: "app.localhost:3001", port: 5173 };
    const SECOND: ProxyEndpoints<'_> = ProxyEndpoints { host: "127.0.0.1:3002", port: 5173 };

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn hop_by_hop_headers_are_removed() {
        let mut map = headers(&[
            ("connection", "keep-alive, X-Private"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("keep-alive", "1"),
            ("accept", "*/*"),
        ]);
        assert_eq!(strip_hop_headers(&mut map), None);
        assert_eq!(map, headers(&[("accept", "*/*")]));
        let mut map = headers(&[("connection", "Upgrade"), ("upgrade", "websocket")]);
        assert_eq!(strip_hop_headers(&mut map).unwrap(), "websocket");
        assert!(map.is_empty());
    }

    #[test]
    fn the_apps_cookies_pass_and_provosts_do_not() {
        let mut map = headers(&[
            ("cookie", "a=1; provost_3001=secret; provost_preview=x"),
            ("cookie", "PROVOST_3001=secret; b=2"),
        ]);
        strip_own_cookies(&mut map);
        assert_eq!(map, headers(&[("cookie", "a=1; b=2")]));
    }

    #[test]
    fn a_response_is_mapped_to_the_preview() {
        for (place, expected) in [
            ("http://localhost:5173/x", Some("http://app.localhost:3001/x")),
            ("http://127.0.0.1:5173", Some("http://app.localhost:3001")),
            ("http://localhost:51730/x", None),
            ("https://example.com/", None),
            ("/login", None),
        ] {
            assert_eq!(map_location(place, NAMED).as_deref(), expected, "{place}");
        }
        let mut map = headers(&[
            ("set-cookie", "s=1; Domain=localhost; Path=/"),
            ("set-cookie", "provost_3001=stolen"),
            ("clear-site-data", "\"cookies\""),
            ("x-frame-options", "DENY"),
            ("content-security-policy", "default-src 'self'; frame-ancestors 'none'"),
        ]);
        rewrite_response_headers(&mut map, NAMED);
        let expected = headers(&[
            ("set-cookie", "s=1; Path=/"),
            ("content-security-policy", "default-src 'self'"),
        ]);
        assert_eq!(map, expected);
    }

    #[test]
    fn a_server_gets_a_host_it_accepts() {
        assert_eq!(NAMED.upstream_host(), "app.localhost:3001");
        assert_eq!(SECOND.upstream_host(), "localhost:5173");
    }
}
