//! The page that a browser gets instead of the JSON of an error: what happened, and what to do.

use axum::http::StatusCode;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Response};
use provost_proto::Code;

use crate::html::escape_html;

const PAGE_TEMPLATE: &str = include_str!("error_page.html");

/// The page may use its own style, and nothing else.
const PAGE_CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The title of the page, and what a person can do.
fn describe_error(code: Code) -> (&'static str, &'static str) {
    match code.status() {
        _ if code == Code::LoginExpired => (
            "This login link does not work any more",
            "If this browser is logged in already, open Provost.",
        ),
        401 => (
            "This address needs a login",
            "Open Provost: it shows your projects if this browser is logged in. If its login has \
             expired, run `provost up` in the folder of your project, and open the link that it \
             prints.",
        ),
        404 => ("Page not found", "Check the address. The start page leads to your projects."),
        500.. => (
            "Provost cannot respond",
            "Try again. `provost doctor` and the daemon's log tell more.",
        ),
        _ => ("This request was refused", "The start page leads to your projects."),
    }
}

/// Renders the page of an error.
pub(crate) fn render_error_page(code: Code, error: &str) -> Response {
    let (title, advice) = describe_error(code);
    let html = PAGE_TEMPLATE
        .replace("{title}", title)
        .replace("{error}", &escape_html(&to_sentence(error)))
        .replace("{advice}", advice)
        .replace("{code}", code.as_str())
        .replace("{status}", &code.status().to_string());
    let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_SECURITY_POLICY, PAGE_CONTENT_POLICY)], Html(html)).into_response()
}

/// The message of an error with a capital letter and a period.
fn to_sentence(error: &str) -> String {
    let mut text = format!("{}.", error.trim_end_matches('.'));
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
