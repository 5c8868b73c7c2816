//! Filtered reads of the log.

use provost_proto::{Actor, Fact, Stream};
use provost_store::{AppendRequest, Durability, NewEvent};
use serde_json::{Value, json};

use super::{Method, Server, refused};

/// More events than fit into a page.
const MANY: usize = 20_500;

async fn with_many_events() -> Server {
    let server = Server::start().await;
    let fact = Fact::DaemonStopped { reason: "a test".to_owned() };
    let event = NewEvent { stream: Stream::Sys, fact, cause: None };
    let mut append = AppendRequest::single_event(
        "local:ann".to_owned(),
        Actor::Daemon,
        Stream::Sys,
        event.fact.clone(),
    );
    append.events = vec![event; MANY];
    append.durability = Durability::Buffered;
    server.gateway.store().append(append).await.unwrap();
    server
}

#[tokio::test]
async fn a_page_that_finds_little_ends_and_says_where_to_go_on() {
    let server = with_many_events().await;
    server.project("app").await;
    for (query, start) in [("after", 0), ("before", i64::MAX)] {
        let (mut calls, mut found, mut place) = (0, Vec::new(), json!(start));
        while !place.is_null() {
            let page = server.get(&format!("/api/audit?kind=PROJECT_OPENED&{query}={place}")).await;
            found.extend(page["events"].as_array().unwrap().clone());
            place = page["next"].clone();
            calls += 1;
        }
        // A request searches for a limited time, so their number depends on the machine.
        assert_eq!(found.len(), 1, "{query}, {calls} requests");
    }
    let page = server.get("/api/audit?limit=3").await;
    assert_eq!((page["events"].as_array().unwrap().len(), &page["next"]), (3, &json!(3)));
}

#[tokio::test]
async fn a_project_is_asked_for_by_its_id_or_its_name() {
    let server = Server::start().await;
    let (project, other) = (server.project("app").await, server.project("other").await);
    for project in [&project, &other] {
        let path = format!("/api/projects/{}/mode", project.slug);
        server.owner(Method::PUT, &path).json(&json!({ "mode": "auto" })).send().await.unwrap();
    }
    for name in [project.slug.clone(), project.id.uuid().to_string()] {
        let page = server.get(&format!("/api/audit?project={name}")).await;
        let events = page["events"].as_array().unwrap();
        let text = page.to_string();
        assert!(!text.contains(&other.id.uuid().to_string()), "{page}");
        let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert!(kinds.contains(&"PROJECT_OPENED") && kinds.contains(&"MODE_CHANGED"), "{page}");
    }
    let request = server.owner(Method::GET, "/api/audit?project=nosuch");
    refused(request.send().await.unwrap(), "PROJECT_NOT_FOUND", "nosuch").await;
    let request = server.owner(Method::GET, "/api/audit?project=app&stream=sys");
    refused(request.send().await.unwrap(), "INVALID_REQUEST", "stream").await;
}

#[tokio::test]
async fn a_filter_opens_nothing_that_the_token_may_not_see() {
    let server = Server::start().await;
    let project = server.project("app").await;
    let other = server.project("other").await;
    for project in [&project, &other] {
        let path = format!("/api/projects/{}/mode", project.slug);
        let set = server.owner(Method::PUT, &path).json(&json!({ "mode": "auto" }));
        assert_eq!(set.send().await.unwrap().status(), 200);
    }
    let wanted = json!({ "class": "viewer", "project": project.id });
    let viewer = server.token(wanted).await;
    for query in ["kind=MODE_CHANGED", "before=9999", "principal=local:ann", "since=1"] {
        let request = server.anyone(Method::GET, &format!("/api/audit?{query}"));
        let page: Value = request.bearer_auth(&viewer).send().await.unwrap().json().await.unwrap();
        let text = page.to_string();
        assert!(text.contains(&project.id.uuid().to_string()), "{query}: {text}");
        assert!(!text.contains(&other.id.uuid().to_string()), "{query}: {text}");
    }
    let wanted = json!({ "class": "agent", "project": project.id, "role": "dev" });
    let agent = server.token(wanted).await;
    let request = server.anyone(Method::GET, "/api/audit?kind=PROJECT_OPENED").bearer_auth(&agent);
    refused(request.send().await.unwrap(), "FORBIDDEN", "agent tokens may not").await;
}
