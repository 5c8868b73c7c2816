//! A code of one project, a terminal ticket or a preview's, opens nothing of another.

use provost_gateway::RequestCredentials;
use reqwest::Method;
use reqwest::header::{COOKIE, HOST, SET_COOKIE};

use super::{Server, refused};

#[tokio::test]
async fn a_terminal_ticket_is_refused_before_the_upgrade_of_another_project() {
    let server = Server::start().await;
    for name in ["app", "other"] {
        server.project(name).await;
    }
    let attach = |project: &str, ticket: &str| {
        let path =
            format!("/api/projects/{project}/terminal/attach?cols=80&rows=24&ticket={ticket}");
        let request = server.anyone(Method::GET, &path);
        let request = request.header("connection", "upgrade").header("upgrade", "websocket");
        let request = request.header("sec-websocket-version", "13");
        let request = request.header("sec-websocket-protocol", "provost.terminal.1");
        request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==").send()
    };
    let ticket = server.ticket("app").await;
    let response = attach("other", &ticket).await.unwrap();
    refused(response, "UNAUTHENTICATED", "another project").await;
    let response = attach("app", &ticket).await.unwrap();
    refused(response, "UNAUTHENTICATED", "used already").await;
    let response = attach("nowhere", &server.ticket("app").await).await.unwrap();
    refused(response, "PROJECT_NOT_FOUND", "nowhere").await;
    let response = attach("app", &server.ticket("app").await).await.unwrap();
    assert_eq!(response.status(), 101, "the ticket's own project");
}

#[tokio::test]
async fn a_preview_code_and_its_cookie_open_no_other_project() {
    let server = Server::start().await;
    let app = server.project("app").await;
    server.project("other").await;
    let owner = server.gateway.auth.authenticate(RequestCredentials::Header(&server.token));
    let reader = owner.unwrap().into_reader().unwrap();
    let code = || server.gateway.preview.create_preview_code(&reader, app.id, None).unwrap();
    let get = |slug: &str, path: &str, cookie: &str| {
        let host = format!("{slug}.localhost:{}", server.address.port());
        server.anyone(Method::GET, path).header(HOST, host).header(COOKIE, cookie).send()
    };
    for slug in ["other", "5173--other", "nowhere"] {
        let path = format!("/.provost/enter?code={}", code().reveal());
        let response = get(slug, &path, "").await.unwrap();
        assert_eq!(response.status(), 401, "{slug}");
        assert!(!response.headers().contains_key(SET_COOKIE), "{slug}");
        assert_eq!(get("app", &path, "").await.unwrap().status(), 401, "used up by {slug}");
    }
    let path = format!("/.provost/enter?code={}", code().reveal());
    let entered = get("app", &path, "").await.unwrap();
    assert_eq!(entered.status(), 303);
    let cookie = entered.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap();
    assert_eq!(get("app", "/.provost/state", cookie).await.unwrap().status(), 200);
    for slug in ["other", "5173--other", "nowhere"] {
        for path in ["/", "/.provost/state"] {
            assert_eq!(get(slug, path, cookie).await.unwrap().status(), 401, "{slug}{path}");
        }
    }
    // Neither is it a token.
    let response = server.anyone(Method::GET, "/api/projects").header(COOKIE, cookie).send().await;
    refused(response.unwrap(), "UNAUTHENTICATED", "provost up").await;
}
