//! Tokens and their classes.

use reqwest::Method;
use reqwest::header::COOKIE;
use serde_json::{Value, json};

use super::{Server, refused};

#[tokio::test]
async fn every_documented_route_but_two_needs_a_token() {
    let server = Server::start().await;
    let document = server.get("/api/openapi.json").await;
    assert_eq!(document["openapi"].as_str().unwrap().get(..4), Some("3.1."));
    let mut n_checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            if matches!(path.as_str(), "/api/health" | "/login") {
                continue;
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{p}", "x").replace("{id}", "x").replace("{hash}", "x");
            for request in [
                server.anyone(method.clone(), &path),
                server.anyone(method.clone(), &path).bearer_auth("provost_operator_guess"),
                server.anyone(method.clone(), &path).header(COOKIE, "provost_1=x"),
                server.anyone(method.clone(), &path).header("authorization", "Basic eDp5"),
            ] {
                let response = request.json(&json!({})).send().await.unwrap();
                refused(response, "UNAUTHENTICATED", "provost up").await;
                n_checked += 1;
            }
        }
    }
    assert!(n_checked >= 50, "only {n_checked} requests: are the routes documented?");
}

#[tokio::test]
async fn health_needs_no_token() {
    let server = Server::start().await;
    let response = server.anyone(Method::GET, "/api/health").send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap()["status"], "ok");
}

#[tokio::test]
async fn an_agent_may_do_nothing_that_takes_a_person_and_read_nothing() {
    let server = Server::start().await;
    let project = server.project("app").await;
    let wanted = json!({ "class": "agent", "project": project.id, "role": "dev" });
    let agent = server.token(wanted).await;
    for (method, path, body) in [
        (Method::POST, "/api/projects", json!({ "path": "/tmp" })),
        (Method::DELETE, "/api/projects/app", json!({})),
        (Method::POST, "/api/tokens", json!({ "class": "operator" })),
        (Method::GET, "/api/tokens", json!({})),
        (Method::POST, "/api/login-links", json!({})),
        (Method::POST, "/api/shutdown", json!({})),
        (Method::GET, "/api/events", json!({})),
        (Method::GET, "/api/audit", json!({})),
        (Method::GET, "/metrics", json!({})),
    ] {
        let request = server.anyone(method, path).bearer_auth(&agent).json(&body);
        refused(request.send().await.unwrap(), "FORBIDDEN", "agent tokens may not do this").await;
    }
}

#[tokio::test]
async fn a_viewer_looks_and_changes_nothing() {
    let server = Server::start().await;
    server.project("app").await;
    let viewer = server.token(json!({ "class": "viewer" })).await;
    let look = server.anyone(Method::GET, "/api/projects").bearer_auth(&viewer);
    assert_eq!(look.send().await.unwrap().status(), 200);
    let close = server.anyone(Method::DELETE, "/api/projects/app").bearer_auth(&viewer);
    refused(close.send().await.unwrap(), "FORBIDDEN", "it takes an operator").await;
}

#[tokio::test]
async fn a_viewer_of_one_project_sees_that_one_only() {
    let server = Server::start().await;
    let mine = server.project("mine").await;
    let other = server.project("other").await;
    let viewer = server.token(json!({ "class": "viewer", "project": mine.id })).await;
    let get = |path: String| server.anyone(Method::GET, &path).bearer_auth(&viewer).send();

    let list: Value = get("/api/projects".into()).await.unwrap().json().await.unwrap();
    assert_eq!(list["projects"].as_array().unwrap().len(), 1);
    refused(get("/api/projects/other".into()).await.unwrap(), "PROJECT_NOT_FOUND", "other").await;
    let stream = format!("/api/audit?stream=project/{}", other.id.uuid());
    refused(get(stream).await.unwrap(), "FORBIDDEN", "one project").await;
    refused(get("/api/events?stream=sys".into()).await.unwrap(), "FORBIDDEN", "one project").await;
    let own: Value = get("/api/audit".into()).await.unwrap().json().await.unwrap();
    assert_eq!(own["events"], json!([]), "only its own stream, which has no event yet");
}

#[tokio::test]
async fn a_token_ends_when_it_is_revoked_and_when_its_time_is_up() {
    let server = Server::start().await;
    let created = server.owner(Method::POST, "/api/tokens");
    let created = created.json(&json!({ "class": "viewer", "ttlMinutes": 5 }));
    let created: Value = created.send().await.unwrap().json().await.unwrap();
    let token = created["token"].as_str().unwrap();
    let look = || server.anyone(Method::GET, "/api/projects").bearer_auth(token).send();
    assert_eq!(look().await.unwrap().status(), 200);
    server.pass_minutes(6);
    refused(look().await.unwrap(), "UNAUTHENTICATED", "has expired").await;

    let lasting = server.token(json!({ "class": "viewer", "label": "lasting" })).await;
    let list = server.get("/api/tokens").await;
    let id = list["tokens"][0]["id"].as_str().unwrap();
    assert_eq!(list["tokens"].as_array().unwrap().len(), 1, "the expired one is not listed");
    let revoke = format!("/api/tokens/{id}");
    assert_eq!(server.owner(Method::DELETE, &revoke).send().await.unwrap().status(), 204);
    let look = server.anyone(Method::GET, "/api/projects").bearer_auth(&lasting).send();
    refused(look.await.unwrap(), "UNAUTHENTICATED", "unknown or was revoked").await;
    let again = server.owner(Method::DELETE, &revoke).send().await.unwrap();
    refused(again, "NOT_FOUND", "no token").await;
}

#[tokio::test]
async fn a_token_is_bound_to_a_project_by_its_id_or_its_slug() {
    let server = Server::start().await;
    let project = server.project("app").await;
    for name in [json!(project.id), json!(project.slug)] {
        let wanted = json!({ "class": "viewer", "project": name });
        let created = server.owner(Method::POST, "/api/tokens").json(&wanted).send().await.unwrap();
        let created: Value = created.json().await.unwrap();
        assert_eq!(created["entry"]["project"], json!(project.id), "{created}");
    }
    let wanted = json!({ "class": "viewer", "project": "elsewhere" });
    let response = server.owner(Method::POST, "/api/tokens").json(&wanted).send().await.unwrap();
    refused(response, "PROJECT_NOT_FOUND", "elsewhere").await;
}

#[tokio::test]
async fn tokens_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    let project = server.project("app").await.id;
    for (wanted, sentence) in [
        (json!({ "class": "agent", "role": "dev" }), "project: an agent's token is bound"),
        (json!({ "class": "agent", "project": project }), "role: an agent's token is bound"),
        (json!({ "class": "viewer", "role": "dev" }), "role: only an agent's"),
        (json!({ "class": "operator", "project": project }), "project: an operator"),
        (json!({ "class": "viewer", "ttlMinutes": 0 }), "ttlMinutes"),
        (json!({ "class": "viewer", "label": "x".repeat(129) }), "label"),
    ] {
        let response = server.owner(Method::POST, "/api/tokens").json(&wanted).send().await;
        refused(response.unwrap(), "INVALID_REQUEST", sentence).await;
    }
}

#[tokio::test]
async fn a_token_asked_for_twice_with_one_key_is_handed_out_once() {
    let server = Server::start().await;
    let ask = || {
        let request = server.owner(Method::POST, "/api/tokens").header("idempotency-key", "k");
        request.json(&json!({ "class": "viewer" })).send()
    };
    assert_eq!(ask().await.unwrap().status(), 200);
    refused(ask().await.unwrap(), "CONFLICT", "was shown then").await;
    assert_eq!(server.get("/api/tokens").await["tokens"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_secret_of_a_token_is_in_no_event() {
    let server = Server::start().await;
    let token = server.token(json!({ "class": "viewer" })).await;
    let log = server.get("/api/audit").await.to_string();
    assert!(log.contains("TOKEN_CREATED") && !log.contains(&token));
    assert!(!log.contains(token.rsplit('_').next().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_many_times_at_once_is_revoked_once() {
    let server = Server::start().await;
    server.token(json!({ "class": "viewer" })).await;
    let list = server.get("/api/tokens").await;
    let path = format!("/api/tokens/{}", list["tokens"][0]["id"].as_str().unwrap());
    let revoke = |_| tokio::spawn(server.owner(Method::DELETE, &path).send());
    let sent: Vec<_> = (0..24).map(revoke).collect();
    let mut n_revoked = 0;
    for response in sent {
        let status = response.await.unwrap().unwrap().status().as_u16();
        assert!(matches!(status, 204 | 404), "{status}");
        n_revoked += usize::from(status == 204);
    }
    assert_eq!(n_revoked, 1);
    assert_eq!(server.get("/api/audit").await["events"].as_array().unwrap().len(), 2);
}
