//! The kernel's benchmark: the output of a command through kernel, log and door
//! against the same pipe read directly, and the memory of an idle kernel.
//!
//! `cargo xtask bench sandbox`, which builds the release binary first.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const ROUNDS: usize = 7;
const LAST: &str = "5000000";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let daemon = Daemon::start().await;
    daemon.act("fs.listFiles", json!({})).await;
    let kernel = daemon.kernel().await;
    verdict(
        "MB of an idle kernel",
        f64::from(resident_kib(kernel)) * 1024.0 / 1e6,
        Bound::AtMost(10.0),
    );
    for (what, max_output, bound) in [
        ("with the default limit", 256 * 1024, Bound::AtLeast(0.7)),
        ("with everything in the log", 64 * 1024 * 1024, Bound::None),
    ] {
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let direct = direct();
            let params = json!({ "argv": ["seq", "1", LAST], "maxOutput": max_output });
            let began = Instant::now();
            let answer = daemon.act("terminal.runCommand", params).await;
            let ours = began.elapsed();
            assert_eq!(answer["result"]["exitCode"], 0, "{answer}");
            ratios.push(direct.as_secs_f64() / ours.as_secs_f64());
        }
        ratios.sort_by(f64::total_cmp);
        let what = format!("bytes/s of `seq 1 {LAST}`, streamed / read directly, {what}");
        verdict(&what, ratios[ROUNDS / 2], bound);
    }
}

/// How long it takes to read the same pipe directly.
fn direct() -> Duration {
    let began = Instant::now();
    let output = launch::output(Path::new("seq"), &["1", LAST]).unwrap();
    assert!(output.stdout.ends_with(b"5000000\n"));
    began.elapsed()
}

struct Daemon {
    pid: Pid,
    base: String,
    token: String,
    http: reqwest::Client,
    _folder: TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The kernel ends with its commands; it is told to not wait for another daemon.
        kill_process(self.pid, Signal::TERM).unwrap();
    }
}

impl Daemon {
    async fn start() -> Self {
        let own = std::env::current_exe().unwrap();
        let binary: PathBuf = own.ancestors().nth(2).unwrap().join("provost");
        assert!(binary.exists(), "{} is not built", binary.display());
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let app = folder.path().join("app");
        std::fs::create_dir(&app).unwrap();
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let idle = [("PROVOST_KERNEL_IDLE_MINUTES".into(), "0".into())];
        let pid = launch::detached(&binary, &args, &folder.path().join("log"), &idle).unwrap();
        let base = loop {
            let text = std::fs::read(data.join("daemon.json")).unwrap_or_default();
            let value: Value = serde_json::from_slice(&text).unwrap_or_default();
            if let Some(address) = value["address"].as_str() {
                break format!("http://{address}");
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let daemon = Self { pid, base, token, http, _folder: folder };
        daemon.post("/api/projects", json!({ "path": app })).await;
        daemon
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.json(&body).send().await.unwrap().json().await.unwrap()
    }

    async fn act(&self, action: &str, params: Value) -> Value {
        self.post("/api/projects/app/actions", json!({ "action": action, "params": params })).await
    }

    async fn kernel(&self) -> Pid {
        let request = self.http.get(format!("{}/api/projects/app/kernel", self.base));
        let kernel: Value =
            request.bearer_auth(&self.token).send().await.unwrap().json().await.unwrap();
        Pid::from_raw(i32::try_from(kernel["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }
}

fn resident_kib(pid: Pid) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// Nothing is promised; it is good to know.
    None,
}

fn verdict(what: &str, value: f64, bound: Bound) {
    let (holds, sign, limit) = match bound {
        Bound::AtLeast(limit) => (value >= limit, "≥", limit),
        Bound::AtMost(limit) => (value <= limit, "≤", limit),
        Bound::None => return println!("for information: {what} = {value:.2}\n"),
    };
    let word = if holds { "holds" } else { "MISSED" };
    println!("{word}: {what} = {value:.2} (promised {sign} {limit})\n");
}
