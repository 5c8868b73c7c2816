//! Terminal tickets, without a terminal.

use provost_proto::limits;
use reqwest::Method;
use serde_json::json;

use super::{Server, refused};

const PATH: &str = "/api/projects/app/terminal/attach?cols=80&rows=24&ticket=";

#[tokio::test]
async fn a_ticket_is_used_up_by_whoever_comes_with_it_and_does_not_last() {
    let server = Server::start().await;
    server.project("app").await;
    let come = |ticket: String| server.anyone(Method::GET, &format!("{PATH}{ticket}")).send();
    let ticket = server.ticket("app").await;
    refused(come(ticket.clone()).await.unwrap(), "INVALID_REQUEST", "is a WebSocket").await;
    refused(come(ticket).await.unwrap(), "UNAUTHENTICATED", "used already").await;
    let old = server.ticket("app").await;
    server.pass_minutes(1);
    refused(come(old).await.unwrap(), "UNAUTHENTICATED", "too old").await;
    let first = server.ticket("app").await;
    for _ in 0..limits::MAX_TICKETS {
        server.ticket("app").await;
    }
    refused(come(first).await.unwrap(), "UNAUTHENTICATED", "used already").await;
}

#[tokio::test]
async fn a_ticket_ends_with_the_token_that_it_was_got_with() {
    let server = Server::start().await;
    server.project("app").await;
    let token = server.token(json!({ "class": "operator" })).await;
    let path = "/api/projects/app/terminal/ticket";
    let answer = server.anyone(Method::POST, path).bearer_auth(&token).send().await.unwrap();
    let answer: serde_json::Value = answer.json().await.unwrap();
    let list = server.get("/api/tokens").await;
    let revoke = format!("/api/tokens/{}", list["tokens"][0]["id"].as_str().unwrap());
    assert_eq!(server.owner(Method::DELETE, &revoke).send().await.unwrap().status(), 204);
    let path = format!("{PATH}{}", answer["ticket"].as_str().unwrap());
    let come = server.anyone(Method::GET, &path).send().await.unwrap();
    refused(come, "UNAUTHENTICATED", "ticket").await;
}

#[tokio::test]
async fn only_a_person_gets_a_ticket() {
    let server = Server::start().await;
    let project = server.project("app").await.id;
    for wanted in [
        json!({ "class": "agent", "project": project, "role": "dev" }),
        json!({ "class": "viewer" }),
    ] {
        let token = server.token(wanted).await;
        let path = "/api/projects/app/terminal/ticket";
        let answer = server.anyone(Method::POST, path).bearer_auth(token).send().await.unwrap();
        refused(answer, "FORBIDDEN", "it takes an operator").await;
    }
}
