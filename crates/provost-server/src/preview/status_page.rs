//! The page shown while the project's server does not respond: it says why, polls the state,
//! and reloads as soon as the server responds.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use provost_proto::runtime::{
    BuildStatus, ListeningPort, PreviewStatus, RuntimeStatus, RuntimeView,
};
use serde_json::json;

use crate::html::{accepts_html, escape_html};

/// Lines of a crash's output that are shown.
const MAX_SHOWN_CRASH_LINES: usize = 40;

const PAGE_SCRIPT: &str = include_str!("wait.js");
const PAGE_TEMPLATE: &str = include_str!("wait.html");

/// The page may run its one script and request its own origin, and nothing else.
const PAGE_CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
     style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Content of the page: a title, a sentence, and lines of output.
struct StatusPageContent {
    title: &'static str,
    text: String,
    lines: Vec<String>,
}

fn describe_status(view: &RuntimeView, port: Option<u16>) -> StatusPageContent {
    let content =
        |title, text: &str| StatusPageContent { title, text: text.to_owned(), lines: Vec::new() };
    match (view.status, view.preview.status, port) {
        (RuntimeStatus::Stopped, ..) => {
            content("Not running", "The project does not run. Press Run, or use `provost run`.")
        }
        (RuntimeStatus::Starting, ..) => content("Starting", "The dev server is being started."),
        (RuntimeStatus::Building, ..) => content("Building", "The project is being built."),
        (RuntimeStatus::Stopping, ..) => content("Stopping", "The project is being stopped."),
        (RuntimeStatus::Crashed, ..) => describe_crash(view),
        (RuntimeStatus::Running, _, Some(port)) => StatusPageContent {
            title: "Nothing there",
            text: format!("Nothing of the project listens on port {port}."),
            lines: Vec::new(),
        },
        (RuntimeStatus::Running, PreviewStatus::Lost, None) => {
            content("Gone", "The dev server runs but does not listen on its port any more.")
        }
        (
            RuntimeStatus::Running,
            PreviewStatus::None | PreviewStatus::Detected | PreviewStatus::Ready,
            None,
        ) => content("Waiting", "The dev server runs but does not listen on a port yet."),
    }
}

fn describe_crash(view: &RuntimeView) -> StatusPageContent {
    let failed = view.build.status == BuildStatus::Failed;
    let crash = view.dev_server.crash.as_ref();
    let text = match crash.map(|crash| (crash.exit_code, crash.signal, crash.why.as_deref())) {
        Some((_, _, Some(why))) => format!("It does not run: {why}."),
        Some((Some(code), ..)) => format!("The dev server ended with exit code {code}."),
        Some((_, Some(signal), _)) => format!("The dev server was ended by signal {signal}."),
        Some(_) | None => "The dev server ended.".to_owned(),
    };
    let comes_back =
        if view.dev_server.restart_at.is_some() { " It will be restarted." } else { "" };
    let mut lines = crash.map(|crash| crash.last_lines.clone()).unwrap_or_default();
    lines.drain(..lines.len().saturating_sub(MAX_SHOWN_CRASH_LINES));
    let title = if failed { "The build failed" } else { "Crashed" };
    StatusPageContent { title, text: text + comes_back, lines }
}

/// Nothing listens on the port.
pub(super) fn respond_unavailable(
    view: &RuntimeView,
    port: Option<u16>,
    request: &Request,
) -> Response {
    render_page(
        StatusCode::SERVICE_UNAVAILABLE,
        &describe_status(view, port),
        accepts_html(request.method(), request.headers()),
    )
}

/// The server listens but did not respond.
pub(super) fn respond_bad_gateway(
    view: &RuntimeView,
    port: u16,
    reason: &str,
    as_page: bool,
) -> Response {
    let content = match view.status {
        RuntimeStatus::Running => StatusPageContent {
            title: "No response",
            text: format!("The server on port {port} does not respond: {reason}."),
            lines: Vec::new(),
        },
        RuntimeStatus::Stopped
        | RuntimeStatus::Starting
        | RuntimeStatus::Building
        | RuntimeStatus::Stopping
        | RuntimeStatus::Crashed => describe_status(view, None),
    };
    render_page(StatusCode::BAD_GATEWAY, &content, as_page)
}

/// The log cannot be read.
pub(super) fn respond_internal_error(error: &str) -> Response {
    let content =
        StatusPageContent { title: "Internal error", text: error.to_owned(), lines: Vec::new() };
    render_page(StatusCode::INTERNAL_SERVER_ERROR, &content, true)
}

/// No access, or no such project: the response does not tell which.
pub(super) fn respond_unauthorized() -> Response {
    let text = "Open this preview from Provost or with `provost preview`, which gives your \
                browser access.";
    let content = StatusPageContent {
        title: "Not open to this browser",
        text: text.to_owned(),
        lines: Vec::new(),
    };
    let mut response = render_page(StatusCode::UNAUTHORIZED, &content, true);
    response.headers_mut().remove("x-provost-waiting");
    response
}

fn render_page(status: StatusCode, content: &StatusPageContent, as_page: bool) -> Response {
    let headers = [(CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, PAGE_CONTENT_POLICY)];
    let own = [("x-provost-waiting", "1")];
    if !as_page {
        let text = format!("{}: {}\n", content.title, content.text);
        return (status, headers, own, text).into_response();
    }
    let mut lines = String::new();
    for line in &content.lines {
        let _ = writeln!(lines, "{}", escape_html(line));
    }
    let lines = if lines.is_empty() { lines } else { format!("<pre>{lines}</pre>") };
    let html = PAGE_TEMPLATE
        .replace("{title}", &escape_html(content.title))
        .replace("{text}", &escape_html(&content.text))
        .replace("{lines}", &lines);
    (status, headers, own, Html(html)).into_response()
}

/// The state for the page's script, which reloads the page when it changes.
pub(super) fn respond_state(view: &RuntimeView, open: Option<&ListeningPort>) -> Response {
    let content = describe_status(view, None);
    let answers = open.is_some_and(|open| open.http);
    let state = json!({ "listens": open.is_some(), "answers": answers, "status": view.status,
        "title": content.title, "text": content.text });
    ([(CACHE_CONTROL, "no-store")], Json(state)).into_response()
}

/// The page's script.
pub(super) fn respond_script() -> Response {
    let headers = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (headers, PAGE_SCRIPT).into_response()
}
