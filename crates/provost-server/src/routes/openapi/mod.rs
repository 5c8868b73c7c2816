//! The OpenAPI document: what the handlers declare, and the errors of each route.

mod error_codes;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use provost_proto::Code;
use serde_json::{Map, Value, json};

use crate::middleware::auth::Authenticated;

/// The route whose errors have the format of `OpenAI`, unless they come before its handler.
const CHAT_COMPLETIONS_PATH: &str = "/v1/chat/completions";

/// The statuses of each operation, with the codes of errors, by `method path`.
type DocumentedStatuses = BTreeMap<String, BTreeMap<u16, Vec<Code>>>;

static DOCUMENT: LazyLock<(Bytes, DocumentedStatuses)> = LazyLock::new(|| {
    let (document, statuses) = build_document();
    (Bytes::from(document.to_string()), statuses)
});

/// Get the OpenAPI document. Any token may read it.
#[utoipa::path(get, path = "/api/openapi.json", responses((status = 200, body = Object)))]
pub(crate) async fn show_document(_: Authenticated) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.0.clone())
}

/// The OpenAPI document.
pub fn openapi() -> Value {
    build_document().0
}

/// Panics if a response is not in the document, so that every test that sends a request checks
/// the document.
pub(crate) fn check_response(method: &Method, route: &str, status: StatusCode, code: Option<Code>) {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let method = method.as_str().to_lowercase();
    // Requests that match no documented operation get 404 or 405.
    let Some(statuses) = DOCUMENT.1.get(&format!("{method} {route}")) else { return };
    let codes = statuses.get(&status.as_u16());
    let is_documented = codes.is_some_and(|codes| code.is_none_or(|code| codes.contains(&code)));
    assert!(
        is_documented,
        "{method} {route} sent {status} {code:?}, which is not in the OpenAPI document"
    );
}

fn build_document() -> (Value, DocumentedStatuses) {
    let mut document = serde_json::to_value(super::api_routes().into_openapi()).unwrap_or_default();
    let mut statuses = DocumentedStatuses::new();
    let mut responses = Map::new();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, methods) in paths.into_iter().flatten() {
        for (method, operation) in methods.as_object_mut().into_iter().flatten() {
            let codes = error_codes::codes_of_operation(method, path, operation);
            let mut by_status = BTreeMap::<u16, Vec<Code>>::new();
            for code in codes {
                by_status.entry(code.status()).or_default().push(code);
            }
            if let Some(declared) = operation["responses"].as_object_mut() {
                describe_bodies(path, declared);
                for (status, codes) in &by_status {
                    let (name, response) = error_response(path, *status, codes);
                    let reference = json!({ "$ref": format!("#/components/responses/{name}") });
                    declared.insert(status.to_string(), reference);
                    responses.insert(name, response);
                }
                let successes = declared.keys().filter_map(|status| status.parse().ok());
                for status in successes {
                    by_status.entry(status).or_default();
                }
            }
            statuses.insert(format!("{method} {path}"), by_status);
        }
    }
    document["components"]["responses"] = Value::Object(responses);
    (document, statuses)
}

/// An error response, shared by the routes with the same codes for this status, and its name.
fn error_response(path: &str, status: u16, codes: &[Code]) -> (String, Value) {
    let names: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
    let code = json!({ "enum": names });
    let mut schema = json!({ "allOf": [
        { "$ref": "#/components/schemas/ErrorResponse" },
        { "properties": { "code": code, "status": { "const": status } } },
    ] });
    let mut name = names.join(".");
    if path == CHAT_COMPLETIONS_PATH {
        name.push_str(".chat");
        let error = json!({
            "type": "object",
            "required": ["message", "type", "param", "code", "status"],
            "properties": {
                "message": { "type": "string" },
                "type": { "type": "string" },
                "param": { "type": ["string", "null"] },
                "code": code,
                "status": { "const": status },
            },
        });
        let body = json!({
            "type": "object",
            "required": ["error"],
            "properties": { "error": error },
        });
        schema = json!({ "anyOf": [schema, body] });
    }
    let response = json!({
        "description": names.join(", "),
        "content": { "application/json": { "schema": schema } },
    });
    (name, response)
}

/// Describes the bodies that a Rust type cannot: the messages of a stream, and bytes.
fn describe_bodies(path: &str, responses: &mut Map<String, Value>) {
    for response in responses.values_mut() {
        if let Some(stream) = response.pointer_mut("/content/text~1event-stream/schema") {
            let data = stream.take();
            *stream = describe_stream_message(path, data);
        }
        if let Some(bytes) = response.pointer_mut("/content/application~1octet-stream") {
            *bytes = json!({});
        }
    }
}

/// The schema of one message of a stream; `data` is that of a message without `event`.
fn describe_stream_message(path: &str, data: Value) -> Value {
    let mut content = vec![data];
    match path {
        // `sent` and `error`.
        "/api/sessions/{id}/messages" => content.extend([
            json!({ "$ref": "#/components/schemas/SendMessageResponse" }),
            json!({ "$ref": "#/components/schemas/ErrorResponse" }),
        ]),
        // `[DONE]`, which is not JSON.
        CHAT_COMPLETIONS_PATH => content.clear(),
        // `live` and `resync`.
        _ => content.push(json!({ "type": "object", "maxProperties": 0 })),
    }
    let text = json!({ "type": "string" });
    let mut data = text.clone();
    if !content.is_empty() {
        data["contentMediaType"] = json!("application/json");
        data["contentSchema"] = json!({ "anyOf": content });
    }
    json!({
        "type": "object",
        "required": ["data"],
        "properties": { "id": text, "event": text, "data": data },
    })
}
