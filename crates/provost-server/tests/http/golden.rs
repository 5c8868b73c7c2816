//! Golden files: routes, their parameters and bodies, and the frames of the event stream.

use std::fmt::Write as _;

use expect_test::expect_file;
use provost_core::canonical;
use provost_core::hash_chain::{self, RecordParts};
use provost_proto::{Actor, Event, Fact, Stream};
use provost_store::AppendRequest;
use reqwest::Method;
use serde_json::{Value, json};

use super::Server;

/// Prose, and names that follow the names of Rust items.
const FREE: &[&str] = &["description", "operationId", "summary", "tags", "title"];

/// Schemas by the order in which routes refer to them: their names follow Rust types.
struct Schemas {
    document: Value,
    references: Vec<String>,
}

impl Schemas {
    /// The same without what may be reworded, and with numbers in place of names.
    fn plain(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    return json!({ "schema": self.number(reference) });
                }
                let mut kept = serde_json::Map::new();
                for (name, member) in members {
                    // The members of `properties` are names of fields, not words of OpenAPI.
                    let member = match (name.as_str(), member) {
                        ("properties", Value::Object(fields)) => fields
                            .iter()
                            .map(|(name, field)| (name.clone(), self.plain(field)))
                            .collect(),
                        _ => self.plain(member),
                    };
                    if !FREE.contains(&name.as_str()) {
                        kept.insert(name.clone(), member);
                    }
                }
                Value::Object(kept)
            }
            Value::Array(list) => list.iter().map(|value| self.plain(value)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn number(&mut self, reference: &str) -> usize {
        let known = self.references.iter().position(|known| known == reference);
        known.unwrap_or_else(|| {
            self.references.push(reference.to_owned());
            self.references.len() - 1
        })
    }
}

fn document() -> Value {
    provost_server::openapi()
}

#[test]
fn routes_keep_their_paths_parameters_and_bodies() {
    let document = document();
    let mut schemas = Schemas { document: document.clone(), references: Vec::new() };
    let mut text = String::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let operation = schemas.plain(operation);
            writeln!(text, "{} {path} {operation}", method.to_uppercase()).unwrap();
        }
    }
    let mut number = 0;
    while let Some(reference) = schemas.references.get(number) {
        let schema = schemas.document.pointer(reference.trim_start_matches('#')).unwrap().clone();
        let schema = schemas.plain(&schema);
        writeln!(text, "schema {number} {schema}").unwrap();
        number += 1;
    }
    writeln!(text, "security {}", document["components"]["securitySchemes"]).unwrap();
    expect_file!["../golden/openapi.txt"].assert_eq(&text);
}

/// The keys that would have been taken in place of an unknown one.
fn keys(problem: &Value) -> Option<String> {
    let (_, expected) = problem["error"].as_str()?.split_once("unknown field `zzz`, expected ")?;
    let words: Vec<_> = expected.split('`').skip(1).step_by(2).collect();
    Some(words.join(" "))
}

#[tokio::test]
async fn queries_keep_their_keys() {
    let server = Server::start().await;
    server.project("app").await;
    let mut text = String::new();
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let mut target =
                format!("{}?zzz=1", path.replace("{p}", "app").replace(['{', '}'], ""));
            if path.ends_with("/terminal/attach") {
                write!(target, "&ticket={}", server.ticket("app").await).unwrap();
            }
            // What takes no query answers as it likes; only refusals say what is known.
            let verb = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = server.owner(verb, &target).send().await.unwrap();
            if answer.status() == 422 {
                let problem: Value = answer.json().await.unwrap();
                if let Some(keys) = keys(&problem) {
                    writeln!(text, "{method} {path} {keys}").unwrap();
                }
            }
        }
    }
    expect_file!["../golden/queries.txt"].assert_eq(&text);
}

#[tokio::test]
async fn the_event_stream_keeps_its_frames() {
    let server = Server::start().await;
    let fact = Fact::DaemonStopped { reason: "two\nlines".to_owned() };
    let append = AppendRequest::single_event("local:ann", Actor::Daemon, Stream::Sys, fact);
    server.gateway.store().append(append).await.unwrap();
    let mut answer = server.owner(Method::GET, "/api/events").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while !text.contains("event: live\ndata: {}\n\n") {
        let chunk = answer.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let mut expected = ": provost\n\n".to_owned();
    for line in text.lines().filter_map(|line| line.strip_prefix("data: {\"actor\"")) {
        let event: Event = serde_json::from_str(&format!("{{\"actor\"{line}")).unwrap();
        let record = hash_chain::encode_record(&RecordParts {
            seq: event.seq,
            stream: event.stream,
            version: event.version,
            id: event.id,
            at: event.at,
            principal: &event.principal,
            actor: &event.actor,
            command: event.command.as_deref(),
            cause: event.cause,
            kind: &event.kind,
            body: &canonical::to_vec(&event.body).unwrap(),
        });
        assert_eq!(hash_chain::hash_record(&event.prev, &record), event.hash);
        let wire =
            String::from_utf8(hash_chain::encode_event(&record, &event.prev, &event.hash)).unwrap();
        write!(expected, "id: {}\ndata: {wire}\n\n", event.seq).unwrap();
    }
    expected.push_str("event: live\ndata: {}\n\n");
    assert_eq!(text, expected);
    assert!(text.contains("\"kind\":\"DAEMON_STOPPED\""), "{text}");
}
