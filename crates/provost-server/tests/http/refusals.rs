//! Invalid input: a clear error, always in the same format.

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HOST, ORIGIN};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Server, refused};

#[tokio::test]
async fn a_host_that_is_not_ours_is_refused_on_every_kind_of_route() {
    let server = Server::start().await;
    for path in ["/", "/api/health", "/api/projects", "/api/events", "/login?code=x", "/nowhere"] {
        for host in ["evil.example", "evil.example:3001", "127.0.0.1.evil.example", "127.0.0.1:1"] {
            let request = server.owner(Method::GET, path).header(HOST, host);
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 421, "{path} {host}");
            refused(response, "HOST_UNKNOWN", "--allow-host").await;
        }
    }
    let port = server.address.port();
    for host in [format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")]
    {
        let request = server.owner(Method::GET, "/api/projects").header(HOST, &host);
        assert_eq!(request.send().await.unwrap().status(), 200, "{host}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused_even_with_a_token() {
    let server = Server::start().await;
    let port = server.address.port();
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("http://app.localhost:{port}"),
        format!("http://127.0.0.1:{port}.evil.example"),
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let request = server.owner(method, "/api/projects").header(ORIGIN, &origin);
            refused(request.send().await.unwrap(), "ORIGIN_FORBIDDEN", "other origins").await;
        }
    }
    let own = format!("http://127.0.0.1:{port}");
    let request = server.owner(Method::GET, "/api/projects").header(ORIGIN, own);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

/// Sends raw request headers and returns the response.
async fn raw(server: &Server, head: &str) -> String {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let head = format!("{head}Connection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_second_host_or_origin_is_refused_and_an_origin_must_be_the_host() {
    let server = Server::start().await;
    let here = server.address;
    let port = here.port();
    for (lines, code) in [
        (format!("Host: {here}\r\nHost: {here}\r\n"), "HOST_UNKNOWN"),
        (format!("Host: {here}\r\nHost: evil.example\r\n"), "HOST_UNKNOWN"),
        (
            format!("Host: {here}\r\nOrigin: http://{here}\r\nOrigin: http://{here}\r\n"),
            "ORIGIN_FORBIDDEN",
        ),
        (format!("Host: {here}\r\nOrigin: http://localhost:{port}\r\n"), "ORIGIN_FORBIDDEN"),
        (format!("Host: localhost:{port}\r\nOrigin: http://{here}\r\n"), "ORIGIN_FORBIDDEN"),
        (format!("Host: {here}\r\nOrigin: http://127.0.0.1\r\n"), "ORIGIN_FORBIDDEN"),
        (format!("Host: {here}\r\nOrigin: ftp://{here}\r\n"), "ORIGIN_FORBIDDEN"),
        // We speak no TLS, so such a page came from someone else.
        (format!("Host: {here}\r\nOrigin: https://{here}\r\n"), "ORIGIN_FORBIDDEN"),
    ] {
        let answer = raw(&server, &format!("GET /api/health HTTP/1.1\r\n{lines}")).await;
        assert!(answer.contains(code), "{lines}: {answer}");
    }
    for host in [here.to_string(), format!("localhost:{port}")] {
        let head = format!("GET /api/health HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n");
        let answer = raw(&server, &head).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{head}: {answer}");
    }
}

#[tokio::test]
async fn a_target_and_a_host_that_differ_reach_no_route_and_no_preview() {
    let server = Server::start().await;
    server.project("app").await;
    let here = server.address.to_string();
    let preview = format!("app.localhost:{}", server.address.port());
    let auth = format!("Authorization: Bearer {}\r\n", server.token);
    let here_as_user = format!("{preview}@{here}");
    for (target, host) in [
        (&here, &preview),
        (&preview, &here),
        (&here, &"evil.example".to_owned()),
        (&"evil.example".to_owned(), &here),
        (&format!("localhost:{}", server.address.port()), &here),
        (&here_as_user, &here),
        (&here_as_user, &here_as_user),
    ] {
        for path in ["/api/health", "/api/projects", "/", "/login?code=x", "/.provost/wait.js"] {
            let head = format!("GET http://{target}{path} HTTP/1.1\r\nHost: {host}\r\n{auth}");
            let answer = raw(&server, &head).await;
            assert!(answer.starts_with("HTTP/1.1 421 "), "{target} {host} {path}: {answer}");
            assert!(answer.contains("HOST_UNKNOWN"), "{target} {host} {path}: {answer}");
        }
    }
    let same = format!("GET http://{here}/api/projects HTTP/1.1\r\nHost: {here}\r\n{auth}");
    assert!(raw(&server, &same).await.starts_with("HTTP/1.1 200 "));
    let same = format!("GET http://{preview}/api/projects HTTP/1.1\r\nHost: {preview}\r\n{auth}");
    assert!(
        raw(&server, &same).await.starts_with("HTTP/1.1 401 "),
        "the preview, without a cookie"
    );
}

#[tokio::test]
async fn a_path_that_is_not_text_is_refused_on_every_route_that_has_one() {
    let server = Server::start().await;
    let document = server.get("/api/openapi.json").await;
    let mut n_checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some((before, rest)) = path.split_once('{') else { continue };
        let mut path = format!("{before}%FF{}", rest.split_once('}').unwrap().1);
        if path.ends_with("/terminal/attach") {
            server.project("app").await;
            path = format!("{path}?ticket={}", server.ticket("app").await);
        }
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let response = server.owner(method, &path).json(&json!({})).send().await.unwrap();
            refused(response, "INVALID_REQUEST", "invalid path").await;
            n_checked += 1;
        }
    }
    assert!(n_checked >= 4, "only {n_checked} routes");
}

#[tokio::test]
async fn a_request_that_a_foreign_page_made_without_an_origin_is_refused() {
    let server = Server::start().await;
    let fetch = |path: &str, site: &str, mode: &str, dest: &str| {
        let request = server.owner(Method::GET, path);
        let request = request.header("sec-fetch-site", site).header("sec-fetch-mode", mode);
        request.header("sec-fetch-dest", dest).send()
    };
    for site in ["cross-site", "same-site"] {
        for path in ["/api/projects", "/api/audit/verify", "/assets/app.js"] {
            let response = fetch(path, site, "no-cors", "image").await.unwrap();
            refused(response, "ORIGIN_FORBIDDEN", "other origins").await;
        }
        let framed = fetch("/", site, "navigate", "iframe").await.unwrap();
        refused(framed, "ORIGIN_FORBIDDEN", "other origins").await;
        let followed = fetch("/", site, "navigate", "document").await.unwrap();
        assert_eq!(followed.status(), 200, "a link to the page may be followed");
    }
    assert_eq!(fetch("/api/projects", "same-origin", "cors", "empty").await.unwrap().status(), 200);
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused_with_what_was_expected() {
    let server = Server::start().await;
    let post = |kind: &str, body: Vec<u8>| {
        let request = server.owner(Method::POST, "/api/projects");
        request.header(CONTENT_TYPE, kind).body(body).send()
    };
    let json = "application/json";
    for (kind, body, code, sentence) in [
        (json, "{".to_owned(), "BAD_JSON", "not JSON"),
        (json, String::new(), "BAD_JSON", "not JSON"),
        (json, "\u{0}".to_owned(), "BAD_JSON", "not JSON"),
        (json, "[]".to_owned(), "INVALID_REQUEST", "expected a JSON object"),
        (json, "{}".to_owned(), "INVALID_REQUEST", "missing field `path`"),
        (json, r#"{"path":1}"#.to_owned(), "INVALID_REQUEST", "expected a string"),
        (json, r#"{"path":"/","x":1}"#.to_owned(), "INVALID_REQUEST", "unknown field `x`"),
        (json, r#"["/tmp"]"#.to_owned(), "INVALID_REQUEST", "not an array"),
        (json, "[".repeat(100_000), "INVALID_REQUEST", "not an array"),
        (json, r#"{"path":"#.repeat(100_000), "INVALID_REQUEST", "expected a string"),
        ("text/plain", "{}".to_owned(), "UNSUPPORTED_MEDIA_TYPE", "application/json"),
        (
            "application/x-www-form-urlencoded",
            "path=/".to_owned(),
            "UNSUPPORTED_MEDIA_TYPE",
            "JSON",
        ),
        (json, format!("\"{}\"", "x".repeat(10_000_000)), "TOO_LARGE", "1024 KiB"),
    ] {
        refused(post(kind, body.into_bytes()).await.unwrap(), code, sentence).await;
    }
    let invalid = post(json, b"{\"path\":\"\xff\"}".to_vec()).await.unwrap();
    refused(invalid, "BAD_JSON", "not JSON").await;
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_off_at_the_limit_too() {
    let server = Server::start().await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/projects HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        server.address, server.token
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut read, mut write) = socket.into_split();
    let send = tokio::spawn(async move {
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        // Until the server closes the connection, which it does long before 64 MiB.
        for _ in 0..1024 {
            if write.write_all(chunk.as_bytes()).await.is_err() {
                return true;
            }
        }
        false
    });
    let mut answer = Vec::new();
    // The hang-up may come as a reset behind the answer.
    drop(read.read_to_end(&mut answer).await);
    assert!(String::from_utf8_lossy(&answer).contains("TOO_LARGE"));
    assert!(send.await.unwrap(), "the server read it all");
}

#[tokio::test]
async fn a_body_whose_chunks_are_broken_is_not_called_too_large() {
    let server = Server::start().await;
    for chunks in ["ZZZ\r\n", "2\r\n{}0\r\n\r\n", "2\r\n{"] {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "POST /api/projects HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n{chunks}",
            server.address, server.token
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = Vec::new();
        drop(socket.read_to_end(&mut answer).await);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{chunks:?}: {answer}");
        assert!(
            answer.contains("BAD_JSON") && answer.contains("incomplete"),
            "{chunks:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn unknown_routes_methods_and_queries_are_json_too() {
    let server = Server::start().await;
    for (method, path, code, sentence) in [
        (Method::GET, "/nowhere", "NOT_FOUND", "/nowhere"),
        (Method::GET, "/api/nowhere", "NOT_FOUND", "no route"),
        (Method::POST, "/nowhere", "NOT_FOUND", "no route"),
        (Method::GET, "/assets/../../token", "NOT_FOUND", ""),
        (Method::GET, "/index.html.br", "NOT_FOUND", ""),
        (Method::PATCH, "/api/projects", "METHOD_NOT_ALLOWED", "does not take PATCH"),
        (Method::GET, "/api/shutdown", "METHOD_NOT_ALLOWED", "does not take GET"),
        (Method::GET, "/api/events?after=x", "INVALID_REQUEST", "number of an event"),
        (Method::GET, "/api/events?stream=nope", "INVALID_REQUEST", "expected sys"),
        (Method::GET, "/api/projects?everything=1", "INVALID_REQUEST", "unknown field"),
        (Method::GET, "/api/projects/nope", "PROJECT_NOT_FOUND", "nope"),
        (Method::GET, "/api/blobs/nope", "NOT_FOUND", "nope"),
    ] {
        let response = server.owner(method, path).send().await.unwrap();
        refused(response, code, sentence).await;
    }
}

#[tokio::test]
async fn a_head_that_is_not_http_does_no_harm() {
    let server = Server::start().await;
    let long = vec![b'A'; 100_000];
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/9.9\r\n\r\n", &long] {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        // It may close the connection before we are done.
        drop(socket.write_all(bytes).await);
        drop(socket.shutdown().await);
        drop(socket.read_to_end(&mut Vec::new()).await);
    }
    server.get("/api/projects").await;
}

#[tokio::test]
async fn every_answer_carries_its_id_and_forbids_framing() {
    let server = Server::start().await;
    for path in ["/", "/api/health", "/nowhere"] {
        let response = server.anyone(Method::GET, path).send().await.unwrap();
        let headers = response.headers();
        assert_eq!(headers["x-frame-options"], "DENY", "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
        assert!(headers.contains_key("x-request-id"), "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        // WebAssembly is compiled; text never becomes a program.
        assert!(!policy.contains("'unsafe-eval'"), "{path}: {policy}");
        // The page may show previews and outputs in frames; no other origin is named anywhere.
        let port = server.address.port();
        let frames = format!("; frame-src 'self' http://*.localhost:{port}");
        let rest = policy.strip_suffix(&frames);
        assert_eq!(rest.is_some(), path == "/", "{path}: {policy}");
        assert!(!rest.unwrap_or(policy).contains("http"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn the_measurements_count_requests_and_events() {
    let server = Server::start().await;
    server
        .owner(Method::POST, "/api/tokens")
        .json(&json!({ "class": "viewer" }))
        .send()
        .await
        .unwrap();
    server.owner(Method::PATCH, "/api/tokens").send().await.unwrap();
    let text = server.owner(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        "provost_log_events 1",
        r#"provost_http_requests_total{method="POST",route="/api/tokens",status="200"} 1"#,
        r#"provost_http_requests_total{method="PATCH",route="/api/tokens",status="405"} 1"#,
    ] {
        assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn a_caller_cannot_make_new_series_with_odd_methods() {
    let server = Server::start().await;
    for n in 0..100 {
        let odd = Method::from_bytes(format!("ODD{n}").as_bytes()).unwrap();
        server.anyone(odd, "/api/projects").send().await.unwrap();
    }
    let text = server.owner(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(!text.contains("ODD"), "{text}");
    let other =
        r#"provost_http_requests_total{method="other",route="/api/projects",status="405"} 100"#;
    assert!(text.lines().any(|have| have == other), "{text}");
}

#[tokio::test]
async fn a_stopping_server_finishes_and_ends_its_streams() {
    let server = Server::start().await;
    let mut follow = server.owner(Method::GET, "/api/events").send().await.unwrap();
    assert!(follow.chunk().await.unwrap().is_some());
    let stop = server.owner(Method::POST, "/api/shutdown").send().await.unwrap();
    assert_eq!(stop.status(), 202);
    while follow.chunk().await.unwrap().is_some() {}
    server.task.await.unwrap();
    assert!(server.closing.is_cancelled());
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_daemon_that_cannot_write_its_log_says_so_until_it_can() {
    let server = Server::start().await;
    let health = || async { server.anyone(Method::GET, "/api/health").send().await.unwrap() };
    let create = || async {
        let wanted = json!({ "class": "viewer" });
        server.owner(Method::POST, "/api/tokens").json(&wanted).send().await.unwrap().status()
    };
    assert_eq!(health().await.status(), 200);
    let log = rusqlite::Connection::open(server.folder.path().join("data/log.db")).unwrap();
    log.execute_batch("ALTER TABLE events RENAME TO elsewhere").unwrap();
    assert_eq!(create().await, 500);
    refused(health().await, "UNAVAILABLE", "the log cannot be written").await;
    refused(health().await, "UNAVAILABLE", "the log cannot be written").await;
    log.execute_batch("ALTER TABLE elsewhere RENAME TO events").unwrap();
    assert_eq!(create().await, 200);
    assert_eq!(health().await.status(), 200);
}
