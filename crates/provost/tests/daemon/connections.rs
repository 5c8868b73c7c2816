//! More connections than the daemon takes.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::Home;

/// Well above the daemon's limit of 1024.
const N_IDLE: usize = 1200;
const N_SLOW: usize = 200;

/// Far less than the 15 s after which a connection without a request is closed anyway.
const BOUND: Duration = Duration::from_secs(5);

/// Lets this process and the daemon open enough files.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_and_slow_connections_keep_nobody_out() {
    raise_file_limit();
    let home = Home::new();
    let daemon = home.up();
    let address: SocketAddr = daemon.base.strip_prefix("http://").unwrap().parse().unwrap();
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let get = |path: &str| http.get(format!("{}{path}", daemon.base)).bearer_auth(&daemon.token);
    let mut stream = get("/api/events").send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("event: live") {
        seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }

    let connect = || TcpStream::connect_timeout(&address, BOUND).unwrap();
    let mut held = Vec::new();
    for n in 0..N_IDLE + N_SLOW {
        let mut socket = connect();
        if n >= N_IDLE {
            // Not the end of a head; one that was closed already may refuse it.
            drop(socket.write_all(b"GET /api/projects HTTP/1.1\r\nHost: "));
        }
        held.push(socket);
    }

    let started = Instant::now();
    assert!(home.run_ok(&["status"]).contains("app"));
    let projects: Value = get("/api/projects").send().await.unwrap().json().await.unwrap();
    assert_eq!(projects["projects"].as_array().unwrap().len(), 1);
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());

    // A stream of someone who is known was not closed for the others.
    let created = http.post(format!("{}/api/tokens", daemon.base)).bearer_auth(&daemon.token);
    let created = created.json(&json!({ "class": "viewer" })).send().await.unwrap();
    assert_eq!(created.status(), 200);
    let mut seen = String::new();
    while !seen.contains("TOKEN_CREATED") {
        let chunk = tokio::time::timeout(BOUND, stream.chunk()).await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap()));
    }
}
