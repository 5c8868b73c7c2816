//! Delay until a port is detected, and until a stop is complete.

use std::time::Instant;

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::daemon::Daemon;

const RUNS: usize = 15;

/// Prints nothing, so that its port must be detected; records when it started to listen,
/// in microseconds.
const QUIET: &str = "\
const began = (performance.timeOrigin + performance.now()) * 1000;
require('node:http').createServer((asked, answer) => answer.end('ok')).listen(0, '127.0.0.1');
require('node:fs').writeFileSync('listening', String(Math.round(began)));
";

/// Fifty processes, including the one that starts them.
const FIFTY: &str = "\
for n in $(seq 49); do sleep 1000 & done
echo > ready
wait
";

pub(crate) async fn port(daemon: &Daemon) {
    serve(daemon, "port.js", QUIET, "node port.js");
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let status = daemon.get("/api/projects/app/runtime/status").await;
        let after = status["seq"].as_u64().unwrap();
        act(daemon, "run").await;
        let found = detected(daemon, after).await;
        let listening =
            std::fs::read_to_string(daemon.folder.path().join("app/listening")).unwrap();
        times.push(found - listening.parse::<f64>().unwrap());
        act(daemon, "stop").await;
    }
    print_times("a port is found, ms after listen()", &mut times, 1e3, "≤ 150");
}

pub(crate) async fn stop(daemon: &Daemon) {
    serve(daemon, "fifty.sh", FIFTY, "exec sh fifty.sh");
    let ready = daemon.folder.path().join("app/ready");
    let mut times = Vec::new();
    for _ in 0..RUNS {
        act(daemon, "run").await;
        while !ready.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let began = Instant::now();
        act(daemon, "stop").await;
        times.push(began.elapsed().as_secs_f64());
        std::fs::remove_file(&ready).unwrap();
    }
    print_times("50 processes that handle SIGTERM are stopped, ms", &mut times, 1e-3, "≤ 300");
}

fn serve(daemon: &Daemon, name: &str, program: &str, command: &str) {
    let app = daemon.folder.path().join("app");
    std::fs::write(app.join(name), program).unwrap();
    std::fs::write(app.join("provost.toml"), format!("[runtime]\ndev = \"{command}\"\n")).unwrap();
}

async fn act(daemon: &Daemon, what: &str) {
    let done = daemon.post(&format!("/api/projects/app/runtime/{what}"), json!({})).await;
    assert_eq!(done["status"], "finished", "{done}");
}

/// When the log recorded the port, in microseconds.
async fn detected(daemon: &Daemon, after: u64) -> f64 {
    let from = format!("http://{}/api/events?after={after}", daemon.address);
    let answer = daemon.http.get(from).bearer_auth(&daemon.token).send().await.unwrap();
    let (mut body, mut text) = (answer.bytes_stream(), Vec::new());
    loop {
        text.extend_from_slice(&body.next().await.unwrap().unwrap());
        let lines = String::from_utf8_lossy(&text);
        let events = lines.lines().filter_map(|line| line.strip_prefix("data: "));
        for event in events.filter_map(|event| serde_json::from_str::<Value>(event).ok()) {
            if event["kind"] == "PREVIEW_DETECTED" {
                return event["at"].as_f64().unwrap();
            }
        }
    }
}

fn print_times(what: &str, times: &mut [f64], unit: f64, promised: &str) {
    times.sort_by(f64::total_cmp);
    let (p50, last) = (times[times.len() / 2] / unit, times[times.len() - 1] / unit);
    println!("{what}: p50 {p50:.0}, at most {last:.0} of {RUNS} (promised {promised})");
}
