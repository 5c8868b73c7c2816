//! What is shown while there is nothing to show: why, and until when. The page
//! asks how it stands and becomes the project's own as soon as there is one.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use provost_proto::runtime::{
    BuildStatus, ListeningPort, PreviewStatus, RuntimeStatus, RuntimeView,
};
use serde_json::json;

/// How many lines of a crash are shown.
const MAX_SHOWN_CRASH_LINES: usize = 40;

const PAGE_SCRIPT: &str = include_str!("wait.js");
const PAGE_TEMPLATE: &str = include_str!("wait.html");

/// The page may run its one script and ask its own origin, and nothing else.
const PAGE_CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
     style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Whether a request is for a page that a person looks at.
pub(super) fn accepts_html(request: &Request) -> bool {
    let accepts = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    request.method() == Method::GET && accepts.is_some_and(|value| value.contains("text/html"))
}

/// What the page says: a title, a sentence, and lines that were printed.
struct StatusPageContent {
    title: &'static str,
    text: String,
    lines: Vec<String>,
}

fn describe_status(view: &RuntimeView, port: Option<u16>) -> StatusPageContent {
    let say =
        |title, text: &str| StatusPageContent { title, text: text.to_owned(), lines: Vec::new() };
    match (view.status, view.preview.status, port) {
        (RuntimeStatus::Stopped, ..) => {
            say("Not running", "The project does not run. Press Run, or `provost run`.")
        }
        (RuntimeStatus::Starting, ..) => say("Starting", "The dev server is being started."),
        (RuntimeStatus::Building, ..) => say("Building", "The project is being built."),
        (RuntimeStatus::Stopping, ..) => say("Stopping", "The project is being stopped."),
        (RuntimeStatus::Crashed, ..) => describe_crash(view),
        (RuntimeStatus::Running, _, Some(port)) => StatusPageContent {
            title: "Nothing there",
            text: format!("Nothing of the project listens on port {port}."),
            lines: Vec::new(),
        },
        (RuntimeStatus::Running, PreviewStatus::Lost, None) => {
            say("Gone", "The dev server runs, but does not listen any more.")
        }
        (
            RuntimeStatus::Running,
            PreviewStatus::None | PreviewStatus::Detected | PreviewStatus::Ready,
            None,
        ) => say("Waiting", "The dev server runs, and does not listen on any port yet."),
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
    let comes_back = if view.dev_server.restart_at.is_some() { " It comes back." } else { "" };
    let mut lines = crash.map(|crash| crash.last_lines.clone()).unwrap_or_default();
    lines.drain(..lines.len().saturating_sub(MAX_SHOWN_CRASH_LINES));
    let title = if failed { "The build failed" } else { "Crashed" };
    StatusPageContent { title, text: text + comes_back, lines }
}

/// Nothing listens.
pub(super) fn respond_unavailable(
    view: &RuntimeView,
    port: Option<u16>,
    request: &Request,
) -> Response {
    render_page(
        StatusCode::SERVICE_UNAVAILABLE,
        &describe_status(view, port),
        accepts_html(request),
    )
}

/// Someone listens and did not answer.
pub(super) fn respond_bad_gateway(
    view: &RuntimeView,
    port: u16,
    why: &str,
    page: bool,
) -> Response {
    let said = match view.status {
        RuntimeStatus::Running => StatusPageContent {
            title: "No answer",
            text: format!("The server on port {port} does not answer: {why}."),
            lines: Vec::new(),
        },
        RuntimeStatus::Stopped
        | RuntimeStatus::Starting
        | RuntimeStatus::Building
        | RuntimeStatus::Stopping
        | RuntimeStatus::Crashed => describe_status(view, None),
    };
    render_page(StatusCode::BAD_GATEWAY, &said, page)
}

/// The log cannot be read.
pub(super) fn respond_internal_error(why: &str) -> Response {
    let said = StatusPageContent { title: "A fault", text: why.to_owned(), lines: Vec::new() };
    render_page(StatusCode::INTERNAL_SERVER_ERROR, &said, true)
}

/// Whoever asks may not look, or the name is nobody's: which, is not told.
pub(super) fn respond_unauthorized() -> Response {
    let text = "Open this preview from Provost, or with `provost preview`: that gives your \
                browser the right to see it.";
    let said = StatusPageContent {
        title: "Not open to this browser",
        text: text.to_owned(),
        lines: Vec::new(),
    };
    let mut response = render_page(StatusCode::UNAUTHORIZED, &said, true);
    response.headers_mut().remove("x-provost-waiting");
    response
}

fn render_page(status: StatusCode, said: &StatusPageContent, page: bool) -> Response {
    let headers = [(CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, PAGE_CONTENT_POLICY)];
    let own = [("x-provost-waiting", "1")];
    if !page {
        let text = format!("{}: {}\n", said.title, said.text);
        return (status, headers, own, text).into_response();
    }
    let mut lines = String::new();
    for line in &said.lines {
        let _ = writeln!(lines, "{}", escape_html(line));
    }
    let lines = if lines.is_empty() { lines } else { format!("<pre>{lines}</pre>") };
    let html = PAGE_TEMPLATE
        .replace("{title}", &escape_html(said.title))
        .replace("{text}", &escape_html(&said.text))
        .replace("{lines}", &lines);
    (status, headers, own, Html(html)).into_response()
}

fn escape_html(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        // So that what was printed cannot stand for a place in the page.
        '{' => "&#123;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// How it stands, for the page: it loads itself anew when this changes.
pub(super) fn respond_state(view: &RuntimeView, open: Option<&ListeningPort>) -> Response {
    let said = describe_status(view, None);
    let answers = open.is_some_and(|open| open.http);
    let state = json!({ "listens": open.is_some(), "answers": answers, "status": view.status,
        "title": said.title, "text": said.text });
    ([(CACHE_CONTROL, "no-store")], Json(state)).into_response()
}

/// The page's script.
pub(super) fn respond_script() -> Response {
    let headers = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (headers, PAGE_SCRIPT).into_response()
}
