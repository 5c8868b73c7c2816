//! The previews: what projects serve, each under an origin of its own.
//!
//! A request whose `KernelHost` is a preview's never reaches a route of Provost, and
//! one that is not never gets here. On the preview's origin, only `/.provost/` is
//! ours: the door, and what the waiting page needs.

mod forward;
mod headers;
mod hosts;
mod second;
mod waiting;

use std::sync::Arc;

use axum::extract::{Query, Request};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use provost_gateway::{IssuedPreviewCookie, TokenLease, VerifiedPreviewCookie};
use provost_proto::runtime::{ListeningPort, PreviewStatus, PreviewView};
use provost_proto::{Project, ProjectId};
use serde::Deserialize;

use crate::Door;
use headers::COOKIES;
pub(crate) use hosts::{OWN, Place, Previews};
pub(crate) use second::{Fresh, Seconds};

/// Answers a request for a preview. Whatever the answer is, only our own pages may
/// show it in a frame.
pub(crate) async fn answer(door: Arc<Door>, place: Place, request: Request) -> Response {
    let ancestors = HeaderValue::try_from(door.previews.ancestors());
    let mut response = reply(door, place, request).await;
    if let Ok(ancestors) = ancestors {
        response.headers_mut().append(CONTENT_SECURITY_POLICY, ancestors);
    }
    response
}

async fn reply(door: Arc<Door>, place: Place, request: Request) -> Response {
    let path = request.uri().path();
    if path == format!("{OWN}enter") {
        return enter(&door, &place, &request);
    }
    if path == format!("{OWN}wait.js") {
        return waiting::script();
    }
    let Some(Seen { project, port, pass }) = allowed(&door, &place, request.headers()) else {
        return waiting::closed();
    };
    if acts(&request) && is_foreign(&door, &place, request.headers()) {
        let why = "a page of another origin may not act on this preview\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let view = match door.gateway.runtime_view(project.id).await {
        Ok((view, _)) => view,
        Err(error) => return waiting::broken(&error.to_string()),
    };
    let open = chosen(&view.preview, port).cloned();
    if path == format!("{OWN}state") {
        return waiting::state(&view, open.as_ref());
    }
    if path.starts_with(OWN) {
        return (StatusCode::NOT_FOUND, "there is nothing here\n").into_response();
    }
    match open {
        Some(open) => forward::forward(&door, &view, &open, (request, pass)).await,
        None => waiting::page(&view, port, &request),
    }
}

/// The port that is meant, if someone of the project listens on it.
fn chosen(preview: &PreviewView, port: Option<u16>) -> Option<&ListeningPort> {
    let listens = matches!(preview.status, PreviewStatus::Detected | PreviewStatus::Ready);
    let wanted = port.or(preview.port.filter(|_| listens))?;
    preview.ports.iter().find(|open| open.port == wanted)
}

/// What a request may see.
struct Seen {
    project: Project,
    port: Option<u16>,
    /// How long, if it stays.
    pass: TokenLease,
}

/// What a request may see, if one of its cookies opens it.
fn allowed(door: &Door, place: &Place, headers: &HeaderMap) -> Option<Seen> {
    cookies(headers).find_map(|cookie| {
        let VerifiedPreviewCookie { project: id, port: cookie_port, pass } =
            door.gateway.verify_preview_cookie(cookie)?;
        match place {
            Place::Named { slug, port } => {
                let project = door.gateway.find_open_project_named(slug)?;
                (project.id == id).then_some(Seen { project, port: *port, pass })
            }
            Place::Own { project: own, .. } => {
                let project = door.gateway.find_open_project(*own)?;
                (project.id == id).then_some(Seen { project, port: cookie_port, pass })
            }
        }
    })
}

/// Whether a request may do more than look: it changes something, or opens a line
/// of its own, for which browsers know no other rule.
fn acts(request: &Request) -> bool {
    !request.method().is_safe() || request.headers().contains_key(UPGRADE)
}

/// Whether it comes from a page of another project, or of somebody else. The cookie
/// alone does not tell: a browser sends it with whatever our own page shows.
fn is_foreign(door: &Door, place: &Place, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match (headers.contains_key(ORIGIN), text(ORIGIN), text(HOST)) {
        (false, ..) => false,
        (true, Some(origin), Some(host)) => !door.previews.is_own(place, host, origin),
        (true, None, _) | (true, _, None) => true,
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.starts_with(COOKIES[0]).then_some(value)
    })
}

/// What comes with someone who enters.
#[derive(Deserialize)]
struct Entering {
    code: String,
    /// The page that is meant.
    to: Option<String>,
}

/// Whether this is a path on this very origin: browsers take `//` and `/\` for
/// another one, and skip tabs and line ends between.
fn is_path(to: &str) -> bool {
    let mut bytes = to.bytes();
    bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\'))
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Takes a code, gives a cookie, and leads to the page.
fn enter(door: &Door, place: &Place, request: &Request) -> Response {
    let Ok(Query(Entering { code, to })) = Query::try_from_uri(request.uri()) else {
        return waiting::closed();
    };
    let shown = door.gateway.redeem_preview_code(&code);
    let Some(shown) = shown.filter(|shown| leads_to(door, place, shown.project)) else {
        return waiting::closed();
    };
    let IssuedPreviewCookie { cookie, minutes, .. } = shown;
    let seconds = u64::from(minutes) * 60;
    let value = cookie.reveal();
    // Cookies are not kept apart by port, so listeners need names of their own.
    let mark = match place {
        Place::Named { .. } => String::new(),
        Place::Own { at, .. } => format!("_{at}"),
    };
    let base = |name: &str| format!("{name}{mark}={value}; HttpOnly; Path=/; Max-Age={seconds}");
    // A page in a frame of ours is a page of another site to the browser, which
    // sends a cookie there only if it is marked so; not every browser takes that
    // one without TLS, so there are two.
    let both = [
        format!("{}; SameSite=Lax", base(COOKIES[0])),
        format!("{}; SameSite=None; Secure; Partitioned", base(COOKIES[1])),
    ];
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    for cookie in both {
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.append(SET_COOKIE, cookie);
        }
    }
    let place = to.filter(|to| is_path(to)).and_then(|to| HeaderValue::try_from(to).ok());
    headers.insert(LOCATION, place.unwrap_or(HeaderValue::from_static("/")));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

/// Whether a code is for what this origin shows.
fn leads_to(door: &Door, place: &Place, id: ProjectId) -> bool {
    match place {
        Place::Named { slug, .. } => {
            door.gateway.find_open_project_named(slug).is_some_and(|project| project.id == id)
        }
        Place::Own { project, .. } => {
            *project == id && door.gateway.find_open_project(id).is_some()
        }
    }
}

/// The `KernelHost` of a request, as a browser sends it.
fn host(request: &Request) -> String {
    let named = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let header = || request.headers().get(HOST)?.to_str().ok().map(str::to_owned);
    named.or_else(header).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_enters_stays_on_the_previews_origin() {
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
            assert_eq!(is_path(to), expected, "{to:?}");
        }
    }
}
