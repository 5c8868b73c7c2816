//! What the server's own HTML pages share: when to send one, and escaping.

use axum::http::Method;
use axum::http::header::{ACCEPT, HeaderMap};

/// Whether a request is a navigation, so that the response should be a page.
pub(crate) fn accepts_html(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    method == Method::GET && accepts.is_some_and(|value| value.contains("text/html"))
}

/// Text as HTML.
pub(crate) fn escape_html(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        // So that the text cannot contain a placeholder of a template.
        '{' => "&#123;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
