//! The preview proxy: its own origin, streams, sockets, and no credentials of Provost in
//! what reaches the project.

mod own_ports;

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Home, Running};

/// Shows what it was sent, streams, and speaks another protocol if asked to.
const SERVER: &str = r"
const http = require('http')
const server = http.createServer((request, response) => {
  if (request.url === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    request.socket.on('data', () => {})
    server.more = () => response.end('data: 2\n\n')
    return
  }
  if (request.url === '/more') { server.more(); return response.end('ok') }
  if (request.url === '/upload') {
    let n = 0
    request.on('data', (piece) => (n += piece.length))
    request.on('end', () => response.end(String(n)))
    return
  }
  if (request.url === '/away') {
    const port = server.address().port
    response.writeHead(302, { location: `http://localhost:${port}/there`, 'x-frame-options': 'DENY',
      'set-cookie': ['app=1; Domain=localhost; Path=/', 'provost_0=forged'] })
    return response.end()
  }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ url: request.url, headers: request.headers }))
})
server.on('upgrade', (request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
  socket.on('data', (data) => socket.write('echo ' + data))
})
server.listen(0, '127.0.0.1', () => console.log(`http://localhost:${server.address().port}/`))
";

fn http() -> Client {
    let redirect = reqwest::redirect::Policy::none();
    provost_runner::model::local_http_client_builder().redirect(redirect).build().unwrap()
}

/// A preview that was entered.
struct Preview {
    base: String,
    host: String,
    cookie: String,
}

impl Preview {
    fn get(&self, path: &str) -> RequestBuilder {
        let request = http().get(format!("{}{path}", self.base)).header(HOST, &self.host);
        request.header(COOKIE, &self.cookie)
    }

    async fn json(&self, path: &str) -> Value {
        self.get(path).send().await.unwrap().json().await.unwrap()
    }
}

impl Running {
    fn host(&self, name: &str) -> String {
        format!("{name}.localhost:{}", self.base.rsplit(':').next().unwrap())
    }

    async fn as_host(&self, host: &str, path: &str) -> Response {
        let request = http().get(format!("{}{path}", self.base)).header(HOST, host);
        request.send().await.unwrap()
    }

    /// Uses the address that the daemon gives out.
    async fn enter(&self, query: &str) -> Preview {
        self.enter_with(&self.token, query).await
    }

    /// The same, asked for with another token than the owner's.
    async fn enter_with(&self, token: &str, query: &str) -> Preview {
        let url = format!("{}/api/projects/app/preview/url{query}", self.base);
        let answer = http().get(url).bearer_auth(token).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let url = answer["url"].as_str().unwrap();
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let response = self.as_host(host, &format!("/{path}")).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()[LOCATION]),
            (303, &"/".parse().unwrap())
        );
        let cookies: Vec<_> = response.headers().get_all(SET_COOKIE).iter().collect();
        let cookie = cookies[0].to_str().unwrap();
        assert!(cookie.contains("HttpOnly"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        // It works once.
        assert_eq!(self.as_host(host, &format!("/{path}")).await.status(), 401);
        Preview { base: self.base.clone(), host: host.to_owned(), cookie }
    }
}

async fn with_server() -> (Home, Running, Preview) {
    let home = Home::new();
    home.put("server.js", SERVER);
    home.put("provost.toml", "[runtime]\ndev = \"node server.js\"\n");
    let daemon = home.up();
    let (_, answer) = daemon.runtime("run").await;
    assert_eq!(answer["result"]["started"], true, "{answer}");
    daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    let preview = daemon.enter("").await;
    (home, daemon, preview)
}

#[tokio::test]
async fn nothing_of_provosts_reaches_the_project() {
    let (_home, daemon, preview) = with_server().await;
    let own = format!("provost_{}", daemon.base.rsplit(':').next().unwrap());
    let request = preview
        .get("/page?x=1")
        .header(COOKIE, format!("{own}=secret-cookie; app=mine"))
        .header(AUTHORIZATION, format!("Bearer {}", daemon.token))
        .header("x-forwarded-for", "6.6.6.6")
        .header("proxy-authorization", "Basic xyz")
        .header("connection", "x-hop")
        .header("x-hop", "1");
    let seen: Value = request.send().await.unwrap().json().await.unwrap();
    let text = seen.to_string();
    for secret in ["secret-cookie", &daemon.token, "provost_preview", "6.6.6.6", "xyz", "x-hop"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let headers = &seen["headers"];
    assert_eq!((&seen["url"], &headers["cookie"]), (&json!("/page?x=1"), &json!("app=mine")));
    assert_eq!(headers["x-forwarded-host"], preview.host);
    assert_eq!(headers["host"], preview.host);
    // The project's own rights are its own.
    let request = preview.get("/").header(AUTHORIZATION, "Bearer of-the-app");
    let seen: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(seen["headers"]["authorization"], "Bearer of-the-app");
}

#[tokio::test]
async fn a_token_reaches_the_project_in_no_part_of_a_request() {
    let (_home, daemon, preview) = with_server().await;
    let token = &daemon.token;
    let encoded = token.replace('_', "%5F");
    let page = format!("provost_page_{}", "0a".repeat(32));
    let headers = [
        ("x-api-key", token.clone()),
        ("x-auth-token", format!("Token {token}")),
        ("authentication", format!("x{token}x")),
        (COOKIE.as_str(), format!("session={token}; other=1")),
        ("referer", format!("http://{}/login?code=1&t={encoded}", preview.host)),
        ("user-agent", format!("curl {token}")),
        ("x-page", page),
        ("sec-websocket-protocol", format!("v1, {token}")),
    ];
    for (name, value) in headers {
        let seen =
            preview.get("/").header(name, &value).send().await.unwrap().text().await.unwrap();
        let digits = &token[token.len() - 64..];
        assert!(!seen.contains(digits) && !seen.contains("provost_page"), "{name}: {seen}");
    }
    for path in [format!("/?t={token}"), format!("/{token}/x"), format!("/?t={encoded}")] {
        let response = preview.get(&path).send().await.unwrap();
        assert_eq!(response.status(), 400, "{path}");
        assert!(!response.text().await.unwrap().contains(token.as_str()));
    }
    // What only resembles one is the project's.
    let seen: Value = preview
        .get("/?provost_agent_=1")
        .header("x-api-key", "provost_agent_1")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(seen["headers"]["x-api-key"], "provost_agent_1");
}

#[tokio::test]
async fn nobody_sees_a_preview_without_its_cookie_and_no_route_answers_there() {
    let (_home, daemon, preview) = with_server().await;
    let other = daemon.host("other");
    for (host, path) in [(&preview.host, "/"), (&preview.host, "/api/projects"), (&other, "/")] {
        let response = daemon.as_host(host, path).await;
        assert_eq!(response.status(), 401, "{host}{path}");
    }
    // With the cookie, and with a token, the path is the project's.
    let request = preview.get("/api/projects").bearer_auth(&daemon.token);
    let seen: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(seen["url"], "/api/projects");
    // The cookie opens nothing else.
    let request = http().get(format!("{}/api/projects", daemon.base));
    let refused = request.header(COOKIE, &preview.cookie).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    for host in ["evil.com", "app.localhost", "app.localhost.evil.com:80", "a.b.localhost"] {
        assert_eq!(daemon.as_host(host, "/").await.status(), 421, "{host}");
    }
    let forged = Preview { cookie: format!("{}0", preview.cookie), ..preview };
    assert_eq!(forged.get("/").send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn the_way_in_leads_to_the_page_that_was_meant_and_never_elsewhere() {
    let (_home, daemon, _preview) = with_server().await;
    for (to, expected) in [
        ("%2Fpage%3Fx%3D1%23y", "/page?x=1#y"),
        ("%2F%2Fevil.example%2F", "/"),
        ("http%3A%2F%2Fevil.example%2F", "/"),
        ("%2Fa%0D%0Aset-cookie:%20x", "/"),
    ] {
        let answer = daemon.get("/api/projects/app/preview/url").await;
        let url = answer["url"].as_str().unwrap();
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let response = daemon.as_host(host, &format!("/{path}&to={to}")).await;
        assert_eq!(response.headers()[LOCATION], expected, "{to}");
    }
}

#[tokio::test]
async fn bodies_and_events_stream_both_ways_and_answers_lead_back() {
    let (_home, _daemon, preview) = with_server().await;
    let response = preview.get("/events").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut pieces = response.bytes_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert_eq!(&first[..], b"data: 1\n\n", "before the answer has ended");
    preview.get("/more").send().await.unwrap();
    assert_eq!(&pieces.next().await.unwrap().unwrap()[..], b"data: 2\n\n");
    let request = http().post(format!("{}/upload", preview.base)).header(HOST, &preview.host);
    let pieces = futures::stream::iter((0..64).map(|_| Ok::<_, std::io::Error>(vec![7; 65_536])));
    let request = request.header(COOKIE, &preview.cookie).body(reqwest::Body::wrap_stream(pieces));
    assert_eq!(request.send().await.unwrap().text().await.unwrap(), (64 * 65_536).to_string());
    let away = preview.get("/away").send().await.unwrap();
    assert_eq!(away.headers()[LOCATION], format!("http://{}/there", preview.host));
    let cookies: Vec<_> = away.headers().get_all(SET_COOKIE).iter().collect();
    assert_eq!(cookies, ["app=1; Path=/"]);
    assert!(!away.headers().contains_key("x-frame-options"));
    let policy = away.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("frame-ancestors 'self' http://localhost:"), "{policy}");
}

#[tokio::test]
async fn a_page_of_another_project_does_nothing_here_though_the_browser_sends_the_cookie() {
    let (_home, daemon, preview) = with_server().await;
    let port = daemon.base.rsplit(':').next().unwrap();
    for (sentence, origin, status) in [
        ("its own page", format!("http://{}", preview.host), 200),
        ("its own page on another port", format!("http://5173--app.localhost:{port}"), 200),
        ("another project", format!("http://other.localhost:{port}"), 403),
        ("our own page", daemon.base.clone(), 403),
        ("somebody else", "http://evil.com".to_owned(), 403),
        ("a page without an origin", "null".to_owned(), 403),
    ] {
        let posted = http().post(format!("{}/upload", preview.base)).header(HOST, &preview.host);
        let posted = posted.header(COOKIE, &preview.cookie).header(ORIGIN, &origin).body("x");
        assert_eq!(posted.send().await.unwrap().status(), status, "{sentence} writes");
        let looked = preview.get("/").header(ORIGIN, &origin).send().await.unwrap();
        assert_eq!(looked.status(), 200, "{sentence} looks, and cannot read the answer");
        let joined = preview.get("/socket").header(ORIGIN, &origin);
        let joined = joined.header("connection", "upgrade").header("upgrade", "websocket");
        let expected = if status == 200 { 101 } else { 403 };
        assert_eq!(joined.send().await.unwrap().status(), expected, "{sentence} opens a line");
    }
}

/// Opens a line of its own, and reads the head of the answer.
async fn upgraded(preview: &Preview) -> (TcpStream, String) {
    let address = preview.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /socket HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
        preview.host, preview.cookie
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap().to_lowercase())
}

#[tokio::test]
async fn another_protocol_is_passed_through_byte_by_byte() {
    let (_home, _daemon, preview) = with_server().await;
    let (mut stream, head) = upgraded(&preview).await;
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    for word in ["hello", "again"] {
        stream.write_all(word.as_bytes()).await.unwrap();
        let mut echo = vec![0; 5 + word.len()];
        stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(echo, format!("echo {word}").as_bytes());
    }
}

#[tokio::test]
async fn a_preview_ends_with_the_token_it_was_asked_for_with() {
    let (_home, daemon, owners) = with_server().await;
    let created = daemon.post("/api/tokens", &daemon.token, &json!({ "class": "viewer" })).await.1;
    let token = created["token"].as_str().unwrap();
    let preview = daemon.enter_with(token, "").await;
    assert_eq!(preview.json("/x").await["url"], "/x");
    let (mut line, head) = upgraded(&preview).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    // A preview link that was not used yet.
    let url = format!("{}/api/projects/app/preview/url", daemon.base);
    let unused = http().get(url).bearer_auth(token).send().await.unwrap();
    let unused: Value = unused.json().await.unwrap();
    let (host, path) = unused["url"].as_str().unwrap()[7..].split_once('/').unwrap();

    let revoke = format!("{}/api/tokens/{}", daemon.base, created["entry"]["id"].as_str().unwrap());
    let revoked = http().delete(revoke).bearer_auth(&daemon.token).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    assert_eq!(preview.get("/x").send().await.unwrap().status(), 401);
    assert_eq!(daemon.as_host(host, &format!("/{path}")).await.status(), 401);
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_mins(1), line.read_to_end(&mut rest)).await;
    assert!(end.is_ok(), "the line that was open is closed");
    assert_eq!(owners.json("/x").await["url"], "/x", "another's goes on");
}

#[tokio::test]
async fn other_ports_have_names_of_their_own_and_strangers_ports_have_none() {
    let (_home, daemon, preview) = with_server().await;
    let status = daemon.get("/api/projects/app/runtime/status").await;
    let port = status["preview"]["port"].as_u64().unwrap();
    let by_port = daemon.enter(&format!("?port={port}")).await;
    assert_eq!(by_port.host, daemon.host(&format!("{port}--app")));
    assert_eq!(by_port.json("/x").await["url"], "/x");
    assert_eq!(status["preview"]["ports"][0]["url"], format!("http://{}/", by_port.host));
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stranger = stranger.local_addr().unwrap().port();
    let host = daemon.host(&format!("{stranger}--app"));
    let other = Preview { host, ..preview };
    assert_eq!(other.get("/").send().await.unwrap().status(), 503);
}

#[tokio::test]
async fn while_there_is_nothing_to_see_the_page_says_why_and_the_cookie_outlives_the_daemon() {
    let (home, daemon, preview) = with_server().await;
    let page = |preview: &Preview| {
        let request = preview.get("/").header("accept", "text/html");
        async move { request.send().await.unwrap() }
    };
    daemon.kill();
    let daemon = home.up();
    let preview = Preview { base: daemon.base.clone(), host: daemon.host("app"), ..preview };
    assert_eq!(preview.json("/").await["url"], "/", "the cookie still opens it");
    daemon.runtime("stop").await;
    let stopped = page(&preview).await;
    assert_eq!(stopped.status(), 503);
    assert_eq!(stopped.headers()["cache-control"], "no-store");
    let policies = stopped.headers().get_all("content-security-policy");
    let framed = |policy: &&reqwest::header::HeaderValue| {
        policy.to_str().unwrap().starts_with("frame-ancestors 'self' http://localhost:")
    };
    assert_eq!(policies.iter().filter(framed).count(), 1, "{policies:?}");
    let text = stopped.text().await.unwrap();
    assert!(text.contains("Not running") && text.contains("/.provost/wait.js"), "{text}");
    assert_eq!(preview.json("/.provost/state").await["answers"], false);
    home.put("provost.toml", "[runtime]\ndev = \"echo '<b>oops</b>'; exit 3\"\n");
    daemon.runtime("run").await;
    daemon.until_status(|status| status["status"] == "crashed").await;
    let text = page(&preview).await.text().await.unwrap();
    assert!(text.contains("exit code 3") && text.contains("&lt;b&gt;oops"), "{text}");
    home.put("provost.toml", "[runtime]\ndev = \"node server.js\"\n");
    daemon.runtime("run").await;
    daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    assert_eq!(preview.json("/.provost/state").await["answers"], true);
    assert_eq!(preview.json("/").await["url"], "/");
}

#[tokio::test]
async fn a_port_of_its_own_answers_to_our_names_and_to_none_that_others_could_lead_here() {
    let home = Home::new();
    home.put("server.js", SERVER);
    home.put("provost.toml", "[runtime]\ndev = \"node server.js\"\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let first = taken.local_addr().unwrap().port().to_string();
    let app = home.path("app");
    home.run_ok(&["up", "--no-open", "--preview-port", &first, app.to_str().unwrap()]);
    let daemon = home.running();
    daemon.post("/api/projects/app/runtime/run", &daemon.token, &json!({})).await;
    let ready = |status: &Value| status["preview"]["url"].is_string();
    let url = daemon.until_status(ready).await["preview"]["url"].clone();
    let (url, client) = (url.as_str().unwrap(), http());
    let at = url.trim_end_matches('/').rsplit(':').next().unwrap();
    for (host, status) in [
        (format!("localhost:{at}"), 401),
        (format!("LOCALHOST:{at}"), 401),
        (format!("127.0.0.1:{at}"), 401),
        (format!("evil.example:{at}"), 421),
        (format!("app.localhost:{at}"), 421),
        (format!("localhost:{first}"), 421),
        ("localhost".to_owned(), 421),
    ] {
        let answer = client.get(url).header(HOST, &host).send().await.unwrap();
        assert_eq!(answer.status(), status, "{host}");
    }
}

#[tokio::test]
async fn with_ports_of_their_own_two_projects_share_no_origin_and_see_nothing_of_each_other() {
    let home = Home::new();
    std::fs::create_dir(home.path("other")).unwrap();
    for name in ["app", "other"] {
        std::fs::write(home.path(name).join("server.js"), SERVER).unwrap();
        let dev = "[runtime]\ndev = \"node server.js\"\n";
        std::fs::write(home.path(name).join("provost.toml"), dev).unwrap();
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let first = taken.local_addr().unwrap().port();
    let (app, other) = (home.path("app"), home.path("other"));
    let port = first.to_string();
    home.run_ok(&["up", "--no-open", "--preview-port", &port, app.to_str().unwrap()]);
    home.run_ok(&["up", "--no-open", other.to_str().unwrap()]);
    let daemon = home.running();
    let client = http();
    let mut seen = Vec::new();
    for name in ["app", "other"] {
        let run = format!("/api/projects/{name}/runtime/run");
        daemon.post(&run, &daemon.token, &json!({})).await;
        let url = loop {
            let answer = daemon.get(&format!("/api/projects/{name}/preview/url")).await;
            match answer["url"].as_str() {
                Some(url) if answer["status"] == "ready" => break url.to_owned(),
                _ => tokio::task::yield_now().await,
            }
        };
        let root = url.split("/.provost").next().unwrap().to_owned();
        let status = daemon.get(&format!("/api/projects/{name}/runtime/status")).await;
        assert_eq!(status["preview"]["url"], format!("{root}/"), "told everywhere, and stable");
        seen.push((root, url, status["preview"]["port"].clone()));
    }
    let [(app, way_in, port), (other, to_other, _)] = seen.try_into().unwrap();
    assert_ne!(app, other);
    for root in [&app, &other] {
        let port: u16 = root.rsplit(':').next().unwrap().parse().unwrap();
        assert!(port > first, "{root}: a port that is taken is skipped");
    }
    // A way in leads to its own project only.
    let elsewhere = way_in.replace(&app, &other);
    assert_eq!(client.get(elsewhere).send().await.unwrap().status(), 401);
    let cookie = |entered: Response| {
        assert_eq!(entered.status(), 303);
        entered.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned()
    };
    let way_in = daemon.get("/api/projects/app/preview/url").await["url"].clone();
    let own = cookie(client.get(way_in.as_str().unwrap()).send().await.unwrap());
    let others = cookie(client.get(to_other).send().await.unwrap());
    let names = [&own, &others].map(|cookie| cookie.split('=').next().unwrap().to_owned());
    assert_ne!(names[0], names[1], "one does not take the place of the other");
    assert_eq!(client.get(&app).send().await.unwrap().status(), 401);
    assert_eq!(client.get(&other).header(COOKIE, &own).send().await.unwrap().status(), 401);
    let both = format!("{own}; {others}; app=mine");
    let page = client.get(&app).header(COOKIE, &both).timeout(Duration::from_mins(1));
    let page: Value = page.send().await.unwrap().json().await.unwrap();
    assert_eq!(page["headers"]["host"], format!("localhost:{port}"));
    assert_eq!(page["headers"]["cookie"], "app=mine", "no cookie of a preview gets there");
    // A browser sends both cookies to both; a page of the one does nothing to the other.
    let act = client.post(&other).header(COOKIE, &both).header(ORIGIN, &app);
    assert_eq!(act.send().await.unwrap().status(), 403);
    assert_eq!(client.get(format!("{app}/api/health")).send().await.unwrap().status(), 401);
}
