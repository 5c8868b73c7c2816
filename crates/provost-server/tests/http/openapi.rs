//! The OpenAPI document against what the routes send.

use std::collections::BTreeMap;

use provost_proto::Code;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::Server;

/// Each operation of the document: method, path, and the declaration.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| {
            (method.to_uppercase().parse().unwrap(), path.clone(), operation.clone())
        })
    });
    methods.collect()
}

/// The codes that an operation lists for each status.
fn codes(document: &Value, operation: &Value) -> BTreeMap<u16, Vec<String>> {
    let responses = operation["responses"].as_object().unwrap();
    let listed = responses.iter().map(|(status, response)| {
        let reference = response["$ref"].as_str().unwrap_or_default();
        let response = document.pointer(reference.trim_start_matches('#')).unwrap_or(response);
        let schema = &response["content"]["application/json"]["schema"];
        let schema = if schema["anyOf"].is_array() { &schema["anyOf"][0] } else { schema };
        let codes = schema["allOf"][1]["properties"]["code"]["enum"].as_array();
        let codes = codes.into_iter().flatten().map(|code| code.as_str().unwrap().to_owned());
        (status.parse().unwrap(), codes.collect())
    });
    listed.collect()
}

#[test]
fn every_route_lists_the_errors_that_its_kind_of_request_gets() {
    let document = provost_server::openapi();
    for (method, path, operation) in operations(&document) {
        let listed = codes(&document, &operation);
        let mut expected = vec!["HOST_UNKNOWN", "ORIGIN_FORBIDDEN", "INTERNAL", "UNAVAILABLE"];
        if !matches!(path.as_str(), "/api/health" | "/login") {
            expected.extend(["UNAUTHENTICATED", "FORBIDDEN"]);
        }
        if operation["requestBody"].is_object() {
            expected.extend(["BAD_JSON", "REQUEST_TIMEOUT", "TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]);
        }
        if path.contains("{p}") {
            expected.extend(["PROJECT_NOT_FOUND", "INVALID_REQUEST"]);
        }
        for code in expected {
            let status = Code::ALL.iter().find(|known| known.as_str() == code).unwrap().status();
            let have = listed.get(&status);
            assert!(
                have.is_some_and(|have| have.iter().any(|have| have == code)),
                "{method} {path} does not list {code}: {listed:?}"
            );
        }
        for (status, codes) in &listed {
            assert_eq!(codes.is_empty(), *status < 400, "{method} {path} {status}");
        }
        assert!(listed.keys().any(|status| *status < 400), "{method} {path} never succeeds");
    }
}

#[test]
fn codes_are_documented_as_they_are_sent_and_with_their_status() {
    let document = provost_server::openapi();
    let all = document["components"]["schemas"]["Code"]["enum"].as_array().unwrap();
    assert_eq!(*all, Code::ALL.iter().map(|code| json!(code)).collect::<Vec<_>>());
    for (method, path, operation) in operations(&document) {
        for (status, codes) in codes(&document, &operation) {
            for code in codes {
                let known = Code::ALL.iter().find(|known| known.as_str() == code);
                assert_eq!(known.unwrap().status(), status, "{method} {path} {code}");
            }
        }
    }
}

#[tokio::test]
async fn every_token_reads_the_document_and_nobody_without_one() {
    let server = Server::start().await;
    let project = server.project("app").await.id;
    for wanted in [
        json!({ "class": "agent", "project": project, "role": "dev" }),
        json!({ "class": "viewer", "project": project }),
        json!({ "class": "operator" }),
    ] {
        let token = server.token(wanted).await;
        let request = server.anyone(Method::GET, "/api/openapi.json").bearer_auth(token);
        let document: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(document, provost_server::openapi());
    }
    let response = server.anyone(Method::GET, "/api/openapi.json").send().await.unwrap();
    assert_eq!(response.status(), 401);
}

/// Fails unless the document has the status and the code of a response.
async fn check_documented(document: &Value, what: &str, operation: &Value, response: Response) {
    let listed = codes(document, operation);
    let status = response.status().as_u16();
    assert!(listed.contains_key(&status), "{what} sent {status}");
    if status >= 400 {
        let body: Value = response.json().await.unwrap();
        let code = body.get("code").unwrap_or(&body["error"]["code"]).as_str().unwrap();
        assert!(listed[&status].iter().any(|have| have == code), "{what} sent {code}");
    }
}

#[tokio::test]
async fn what_each_route_answers_to_good_and_bad_requests_is_documented() {
    let server = Server::start().await;
    let project = server.project("app").await.id;
    let wanted = json!({ "class": "agent", "project": project, "role": "dev" });
    let agent = server.token(wanted).await;
    let document = provost_server::openapi();
    let mut n_checked = 0;
    for (method, path, operation) in operations(&document) {
        // They end the daemon and start a kernel.
        if matches!(path.as_str(), "/api/shutdown" | "/api/tour") {
            continue;
        }
        for (p, rest) in [("app", "x"), ("nowhere", "x"), ("%FF", "%FF")] {
            let target = path.replace("{p}", p).replace("{what}", "stop");
            let parts: Vec<_> = target
                .split('/')
                .map(|part| if part.starts_with('{') { rest } else { part })
                .collect();
            let target = parts.join("/");
            let send = |token: &str| {
                let request = server.anyone(method.clone(), &target).bearer_auth(token);
                request.header("host", server.address.to_string())
            };
            for token in [server.token.as_str(), agent.as_str()] {
                for request in [
                    send(token),
                    send(token).json(&json!({})),
                    send(token).json(&json!({ "surplus": 1 })),
                    send(token).json(&json!([])),
                    send(token).header("content-type", "application/json").body("{"),
                    send(token).header("content-type", "text/plain").body("{}"),
                    send(token).query(&[("surplus", "1")]),
                    send(token).header("idempotency-key", ""),
                    send(token).header("origin", "http://evil.example"),
                    send(token).header("last-event-id", "x"),
                ] {
                    let response = request.send().await.unwrap();
                    let what = format!("{method} {target}");
                    check_documented(&document, &what, &operation, response).await;
                    n_checked += 1;
                }
            }
        }
    }
    assert!(n_checked > 3000, "only {n_checked} requests");
}
