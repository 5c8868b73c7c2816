//! Login links, and the two halves of a login: the cookie and the page's secret.

use provost_proto::{Actor, Fact, Stream, TokenClass};
use provost_store::{AppendRequest, Clock};
use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{Server, refused};

const PAGE: &str = "provost-page";

/// A browser that is logged in.
struct Browser {
    /// The cookie as name and value.
    cookie: String,
    page: String,
}

impl Browser {
    fn value(&self) -> &str {
        self.cookie.split_once('=').unwrap().1
    }
}

impl Server {
    async fn link(&self) -> String {
        let link = self.owner(Method::POST, "/api/login-links").json(&json!({})).send().await;
        let link: Value = link.unwrap().json().await.unwrap();
        link["path"].as_str().unwrap().to_owned()
    }

    async fn browser(&self) -> Browser {
        let link = self.link().await;
        let login = self.anyone(Method::GET, &link).send().await.unwrap();
        assert_eq!(login.status(), 303);
        let cookie = login.headers()[SET_COOKIE].to_str().unwrap();
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let place = login.headers()[LOCATION].to_str().unwrap();
        let page = place.strip_prefix("/#page=").unwrap().to_owned();
        assert!(!cookie.contains(&page), "the halves are two");
        Browser { cookie: cookie.split(';').next().unwrap().to_owned(), page }
    }

    /// A request of the page itself.
    fn page(&self, browser: &Browser, method: Method, path: &str) -> RequestBuilder {
        let request = self.anyone(method, path);
        request.header(COOKIE, &browser.cookie).header(PAGE, &browser.page)
    }
}

#[tokio::test]
async fn a_login_link_works_once_and_both_halves_are_a_person_in_the_browser() {
    let server = Server::start().await;
    let link = server.link().await;
    assert_eq!(server.anyone(Method::GET, &link).send().await.unwrap().status(), 303);
    let again = server.anyone(Method::GET, &link).send().await.unwrap();
    refused(again, "LOGIN_EXPIRED", "used already").await;

    let browser = server.browser().await;
    std::fs::create_dir(server.folder.path().join("app")).unwrap();
    let body = json!({ "path": server.folder.path().join("app") });
    let open = server.page(&browser, Method::POST, "/api/projects").json(&body);
    assert_eq!(open.send().await.unwrap().status(), 201);
    let log = server.get("/api/audit").await;
    let opened = log["events"].as_array().unwrap().last().unwrap();
    assert_eq!((&opened["principal"], &opened["actor"]), (&json!("local:ann"), &json!("ui")));
    let log = log.to_string();
    for half in [browser.value(), &browser.page] {
        assert!(!log.contains(half) && !log.contains(half.rsplit('_').next().unwrap()));
    }
}

/// Pages on other ports of the host can set cookies beside ours.
#[tokio::test]
async fn cookies_of_the_same_name_lock_nobody_out() {
    let server = Server::start().await;
    let (browser, stale) = (server.browser().await, server.browser().await);
    let (name, _) = browser.cookie.split_once('=').unwrap();
    let mut good = browser.cookie.clone();
    for other in ["evil", "", stale.value(), "a=b"] {
        for cookies in [format!("{name}={other}; {good}"), format!("{good}; {name}={other}")] {
            let look = server.anyone(Method::GET, "/api/projects").header(PAGE, &browser.page);
            let answer = look.header(COOKIE, &cookies).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{cookies}");
            good = cookies;
        }
    }
    let look = server.anyone(Method::GET, "/api/projects").header(PAGE, &browser.page);
    let answer = look.header(COOKIE, format!("{name}=evil; {name}=worse")).send().await.unwrap();
    assert_eq!(answer.status(), 401);
}

/// A server on another port of the host receives the cookie, and can send requests with it.
#[tokio::test]
async fn half_a_login_is_nobody_on_every_route() {
    let server = Server::start().await;
    server.project("app").await;
    let (browser, other) = (server.browser().await, server.browser().await);
    let document = server.get("/api/openapi.json").await;
    let ours = format!("http://{}", server.address);
    let mut n_checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            if matches!(path.as_str(), "/api/health" | "/login") {
                continue;
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{p}", "app").replace("{id}", "x").replace("{hash}", "x");
            let anyone = || {
                let request = server.anyone(method.clone(), &path).json(&json!({}));
                request.header(ORIGIN, &ours).header(HOST, server.address.to_string())
            };
            for (request, sentence) in [
                (anyone().header(COOKIE, &browser.cookie), "without the header `Provost-Page`"),
                (anyone().header(PAGE, &browser.page), "needs a token"),
                (anyone().header(COOKIE, &browser.cookie).header(PAGE, ""), "different logins"),
                (
                    anyone().header(COOKIE, &browser.cookie).header(PAGE, &other.page),
                    "different logins",
                ),
                (
                    anyone().header(COOKIE, &browser.cookie).header(PAGE, browser.value()),
                    "different logins",
                ),
                (anyone().bearer_auth(browser.value()), "in that browser only"),
                (
                    anyone().bearer_auth(browser.value()).header(PAGE, &browser.page),
                    "in that browser only",
                ),
                (anyone().bearer_auth(&browser.page), "unknown"),
            ] {
                let response = request.send().await.unwrap();
                let is_attach = path.ends_with("/attach");
                refused(response, "UNAUTHENTICATED", if is_attach { "ticket" } else { sentence })
                    .await;
                n_checked += 1;
            }
        }
    }
    assert!(n_checked >= 100, "only {n_checked} requests: are the routes documented?");
    let look = server.page(&browser, Method::GET, "/api/projects").send().await.unwrap();
    assert_eq!(look.status(), 200, "the login itself still works");
}

#[tokio::test]
async fn revoking_a_login_ends_both_halves_and_no_other_login() {
    let server = Server::start().await;
    let (browser, other) = (server.browser().await, server.browser().await);
    let list = server.get("/api/tokens").await;
    let id = list["tokens"][0]["id"].as_str().unwrap();
    let revoke = server.owner(Method::DELETE, &format!("/api/tokens/{id}")).send().await.unwrap();
    assert_eq!(revoke.status(), 204);
    let look = server.page(&browser, Method::GET, "/api/projects").send().await.unwrap();
    refused(look, "UNAUTHENTICATED", "was revoked").await;
    let mixed = Browser { cookie: other.cookie.clone(), page: browser.page };
    let look = server.page(&mixed, Method::GET, "/api/projects").send().await.unwrap();
    refused(look, "UNAUTHENTICATED", "different logins").await;
    let look = server.page(&other, Method::GET, "/api/projects").send().await.unwrap();
    assert_eq!(look.status(), 200);
}

#[tokio::test]
async fn a_login_of_before_there_were_halves_is_told_to_log_in_again() {
    let cookie = "provost_operator_of_old";
    let created = Fact::TokenCreated {
        token: Clock::system().new_id(),
        class: TokenClass::Operator,
        project: None,
        role: None,
        holder: Some("local:ann".to_owned()),
        label: "browser".to_owned(),
        digest: provost_core::hash_chain::digest(cookie.as_bytes()),
        page: None,
        notebook: None,
        expires_at: None,
    };
    let append =
        AppendRequest::single_event("local:ann".to_owned(), Actor::Ui, Stream::Sys, created);
    let server = Server::after(Some(append)).await;
    let cookie = format!("provost_{}={cookie}", server.address.port());
    for page in [None, Some("guess")] {
        let request = server.anyone(Method::GET, "/api/projects").header(COOKIE, &cookie);
        let request = page.into_iter().fold(request, |request, page| request.header(PAGE, page));
        refused(request.send().await.unwrap(), "UNAUTHENTICATED", "provost up").await;
    }
}

#[tokio::test]
async fn looking_at_the_head_of_a_login_link_does_not_use_it_up() {
    let server = Server::start().await;
    let link = server.link().await;
    let head = server.anyone(Method::HEAD, &link).send().await.unwrap();
    assert_eq!(head.status(), 405);
    assert!(!head.headers().contains_key(SET_COOKIE));
    assert_eq!(server.anyone(Method::GET, &link).send().await.unwrap().status(), 303);
}

#[tokio::test]
async fn a_login_link_that_is_too_old_or_never_was_is_refused() {
    let server = Server::start().await;
    let link = server.link().await;
    server.pass_minutes(16);
    for path in [link.as_str(), "/login?code=guess", "/login?code="] {
        let response = server.anyone(Method::GET, path).send().await.unwrap();
        refused(response, "LOGIN_EXPIRED", "run `provost up`").await;
    }
    let response = server.anyone(Method::GET, "/login").send().await.unwrap();
    refused(response, "INVALID_REQUEST", "code").await;
}

#[tokio::test]
async fn the_owners_token_does_not_work_as_a_cookie() {
    let server = Server::start().await;
    let cookie = format!("provost_{}={}", server.address.port(), server.token);
    let response = server.anyone(Method::GET, "/api/projects").header(COOKIE, cookie).send().await;
    refused(response.unwrap(), "UNAUTHENTICATED", "unknown").await;
}

#[tokio::test]
async fn a_login_link_leads_to_the_project_it_was_made_for() {
    let server = Server::start().await;
    let project = server.project("app").await;
    let link =
        |name: String| server.owner(Method::POST, &format!("/api/login-links?project={name}"));
    for name in [project.slug.clone(), project.id.uuid().to_string()] {
        let link: Value = link(name).send().await.unwrap().json().await.unwrap();
        let login =
            server.anyone(Method::GET, link["path"].as_str().unwrap()).send().await.unwrap();
        let place = login.headers()[LOCATION].to_str().unwrap();
        let page = place.strip_suffix("/projects/app/timeline").unwrap();
        let page = page.strip_prefix("/#page=").unwrap();
        let cookie = login.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap();
        let browser = Browser { cookie: cookie.to_owned(), page: page.to_owned() };
        let read = server.page(&browser, Method::GET, "/api/projects").send().await.unwrap();
        assert_eq!(read.status(), 200, "{place}");
    }
    refused(link("nosuch".to_owned()).send().await.unwrap(), "PROJECT_NOT_FOUND", "nosuch").await;
}

/// What a browser gets is a page, and what a program gets is JSON.
#[tokio::test]
async fn a_browser_gets_errors_as_pages_that_say_what_to_do() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let server = Server::start().await;
    let used = server.link().await;
    assert_eq!(server.anyone(Method::GET, &used).send().await.unwrap().status(), 303);
    for (path, code, status, title, advice) in [
        (used.as_str(), "LOGIN_EXPIRED", 401, "does not work any more", "run `provost up`"),
        ("/nowhere/<b>", "NOT_FOUND", 404, "Page not found", "href=\"/\""),
        ("/api/nowhere", "NOT_FOUND", 404, "Page not found", "href=\"/\""),
        ("/api/projects", "UNAUTHENTICATED", 401, "needs a login", "run `provost up`"),
    ] {
        let get = || server.anyone(Method::GET, path);
        let page = get().header(ACCEPT, BROWSER).send().await.unwrap();
        assert_eq!(page.status(), status, "{path}");
        let headers = page.headers().clone();
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8", "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(headers["x-content-type-options"], "nosniff");
        let text = page.text().await.unwrap();
        for part in [title, advice, code] {
            assert!(text.contains(part), "{path}: no {part} in {text}");
        }
        assert!(!text.contains("<b>") && !text.contains("{title}"), "{text}");
        refused(get().send().await.unwrap(), code, "").await;
        refused(get().header(ACCEPT, "application/json").send().await.unwrap(), code, "").await;
    }
}
