//! Benchmark of the gateway: a read and a command over HTTP, evaluated, executed and
//! logged, compared with servers and a spawn without any checks.
//!
//! `cargo xtask bench gateway`, which installs wrk, Fastify and sandbox-agent where they
//! are missing and may be installed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

mod sandbox_agent;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use axum::Json;
use axum::routing::post;
use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use sandbox_agent::SandboxAgent;

const ROUNDS: usize = 5;
const SECONDS: &str = "3s";
const COMMANDS: usize = 200;
/// Commands before the measured ones.
const WARM_UP: usize = 20;
/// A terabyte at once, of each.
const LOG_QUOTA: &str = "[log_quota]\ntoken_mib = 1048576\nproject_mib = 1048576\n";
const ROLE: &str = "---\nname: dev\nskills: [fs.read, terminal.runCommand]\n---\nYou build.\n";

const FASTIFY: &str = "
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import Fastify from 'fastify'
const app = Fastify()
app.post('/read', async request => {
  const content = await readFile(join(process.argv[2], request.body.params.path), 'utf8')
  return { result: { content } }
})
await app.listen({ port: 0, host: '127.0.0.1' })
writeFileSync(process.argv[3], `127.0.0.1:${app.server.address().port}`)
";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut args = std::env::args().skip(1);
    if let (Some("bare"), Some(folder), Some(said)) =
        (args.next().as_deref(), args.next(), args.next())
    {
        return bare(PathBuf::from(folder), PathBuf::from(said)).await;
    }
    let bench = Bench::new();
    let provost = bench.provost().await;
    let bare = bench.bare();
    bench.reads(&provost, &bare).await;
    bench.commands(&provost).await;
    match SandboxAgent::start(&bench) {
        Some(peer) => peer.compare(&bench, &provost).await,
        None => println!("sandbox-agent could not be started; the comparison with it is missing"),
    }
}

/// A server that reads the requested file without any checks.
async fn bare(folder: PathBuf, said: PathBuf) {
    let read = move |Json(wanted): Json<Value>| {
        let path = folder.join(wanted["params"]["path"].as_str().unwrap_or_default());
        async move {
            let content = tokio::fs::read_to_string(path).await.unwrap_or_default();
            Json(json!({ "result": { "content": content } }))
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    std::fs::write(said, listener.local_addr().unwrap().to_string()).unwrap();
    axum::serve(listener, axum::Router::new().route("/read", post(read))).await.unwrap();
}

struct Bench {
    binary: PathBuf,
    own: PathBuf,
    folder: TempDir,
}

/// A running server.
struct Server {
    pid: Pid,
    url: String,
    token: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ended = kill_process(self.pid, Signal::TERM);
        while test_kill_process(self.pid).is_ok() {
            std::thread::yield_now();
        }
    }
}

/// The result of wrk.
#[derive(Clone, Copy)]
struct Measured {
    p50: f64,
    per_second: f64,
}

impl Bench {
    fn new() -> Self {
        let own = std::env::current_exe().unwrap();
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_provost"));
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app");
        std::fs::create_dir_all(project.join(".provost/roles")).unwrap();
        std::fs::write(project.join(".provost/roles/dev.md"), ROLE).unwrap();
        std::fs::write(project.join("file.txt"), "0123456789abcde\n".repeat(256)).unwrap();
        Self { binary, own, folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    fn start(&self, program: &Path, args: &[&str], said: &Path) -> Server {
        let log = self.folder.path().join("servers.log");
        let pid = launch::spawn_detached(program, args, &log, &[]).unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let address: SocketAddr = loop {
            let text = std::fs::read_to_string(said).unwrap_or_default();
            if let Ok(address) = text.trim().parse() {
                break address;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Server { pid, url: format!("http://{address}/read"), token: None }
    }

    fn bare(&self) -> Server {
        let said = self.folder.path().join("bare");
        let folder = self.project();
        let args = ["bare", folder.to_str().unwrap(), said.to_str().unwrap()];
        self.start(&self.own, &args, &said)
    }

    /// Fastify from the npm registry; `None` if it is not available.
    fn fastify(&self) -> Option<Server> {
        let folder = self.folder.path().join("fastify");
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.to_str().unwrap();
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", place];
        let done =
            launch::run_and_capture(Path::new("npm"), &[&install[..], &["fastify@5"]].concat());
        if !done.is_ok_and(|done| done.status.success()) {
            return None;
        }
        std::fs::write(folder.join("server.mjs"), FASTIFY).unwrap();
        let said = folder.join("said");
        let server = folder.join("server.mjs");
        let project = self.project();
        let args = [server.to_str().unwrap(), project.to_str().unwrap(), said.to_str().unwrap()];
        let node =
            launch::run_and_capture(Path::new("sh"), &["-c", "command -v node"]).unwrap().stdout;
        let node = PathBuf::from(String::from_utf8(node).unwrap().trim());
        Some(self.start(&node, &args, &said))
    }

    /// A daemon with a project, a trusted role and an agent's token.
    async fn provost(&self) -> Server {
        let data = self.folder.path().join("data");
        let policy = self.folder.path().join("policy.toml");
        let log = self.folder.path().join("provost.log");
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        // The kernel exits with the daemon, not ten minutes later.
        let idle = ("PROVOST_KERNEL_IDLE_MINUTES".into(), "0".into());
        // Its agent reads more than any agent may by default.
        let config = self.folder.path().join("config.toml");
        std::fs::write(&config, LOG_QUOTA).unwrap();
        let config = ("PROVOST_CONFIG".into(), config.into());
        let own = [("PROVOST_POLICY".into(), policy.into()), config, idle];
        let pid = launch::spawn_detached(&self.binary, &args, &log, &own).unwrap();
        let address = loop {
            let text = std::fs::read(data.join("daemon.json")).unwrap_or_default();
            let said: Value = serde_json::from_slice(&text).unwrap_or_default();
            if let Some(address) = said["address"].as_str() {
                break address.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let base = format!("http://{address}");
        let owner = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let path = self.project();
        ask(&base, &owner, "POST", "/api/projects", &json!({ "path": path })).await;
        let roles = ask(&base, &owner, "GET", "/api/projects/app/roles", &Value::Null).await;
        let trust = json!({
            "what": "role",
            "file": ".provost/roles/dev.md",
            "hash": roles["roles"][0]["hash"],
        });
        ask(&base, &owner, "POST", "/api/projects/app/trust", &trust).await;
        let wanted = json!({ "class": "agent", "project": "app", "role": "dev" });
        let agent = ask(&base, &owner, "POST", "/api/tokens", &wanted).await;
        let full = json!({ "mode": "full", "minutes": 30 });
        ask(&base, &owner, "PUT", "/api/projects/app/mode", &full).await;
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let token = agent["token"].as_str().unwrap().to_owned();
        Server { pid, url: format!("{base}/api/projects/app/actions"), token: Some(token) }
    }

    async fn reads(&self, provost: &Server, bare: &Server) {
        let wanted = json!({ "action": "fs.readFile", "params": { "path": "file.txt" } });
        let answer = run(provost, &wanted).await;
        assert_eq!(answer["result"]["content"].as_str().map(str::len), Some(4096), "{answer}");
        let fastify = self.fastify();
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let ours = self.wrk(provost, 16, &wanted);
            let plain = self.wrk(bare, 16, &wanted);
            let node = fastify.as_ref().map(|fastify| self.wrk(fastify, 16, &wanted));
            rounds.push((ours, plain, node));
        }
        let (ours, plain, _) = rounds[ROUNDS / 2];
        println!(
            "4 KB over HTTP, 16 connections: {:.0} a second, p50 {:.0} µs; bare axum {:.0}, {:.0} µs",
            ours.per_second, ours.p50, plain.per_second, plain.p50
        );
        let slower = median(rounds.iter().map(|(ours, plain, _)| ours.p50 / plain.p50));
        at_most("p50 of a read, decided, run and logged, × a bare axum handler", slower, 3.0);
        let nodes: Vec<_> =
            rounds.iter().filter_map(|(ours, _, node)| Some((*ours, (*node)?))).collect();
        if nodes.is_empty() {
            println!("Fastify could not be installed; the comparison with it is missing");
            return;
        }
        println!("Fastify: {:.0} a second", nodes[nodes.len() / 2].1.per_second);
        let faster = median(nodes.iter().map(|(ours, node)| ours.per_second / node.per_second));
        at_least("reads a second, × Fastify without any check", faster, 2.0);
    }

    /// One `wrk` that posts this to a server.
    fn wrk(&self, server: &Server, connections: usize, wanted: &Value) -> Measured {
        let post = format!(
            "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n\
             wrk.body = [[{wanted}]]\n"
        );
        self.wrk_with(server, connections, &server.url, &post)
    }

    /// One `wrk` with a script for the request; the token of the server is added.
    fn wrk_with(&self, server: &Server, connections: usize, url: &str, text: &str) -> Measured {
        let script = self.folder.path().join("wrk.lua");
        let token = server.token.as_ref().map_or_else(String::new, |token| {
            format!("wrk.headers['Authorization'] = 'Bearer {token}'\n")
        });
        std::fs::write(&script, format!("{text}{token}")).unwrap();
        let script = script.to_str().unwrap();
        let connections = format!("-c{connections}");
        let args = ["-t1", &connections, "-d", SECONDS, "--latency", "-s", script, url];
        let done = launch::run_and_capture(Path::new("wrk"), &args).unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(!text.contains("Non-2xx"), "{text}");
        let after = |label: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
            line.trim_start().trim_start_matches(label).trim().to_owned()
        };
        Measured { p50: micros(&after("50%")), per_second: after("Requests/sec:").parse().unwrap() }
    }

    /// `true`, requested by an agent in mode full, compared with a bare spawn.
    async fn commands(&self, provost: &Server) {
        let wanted = json!({ "action": "terminal.runCommand", "params": { "argv": ["true"] } });
        let none: [&str; 0] = [];
        let (mut asked, mut plain) = (Vec::new(), Vec::new());
        for round in 0..COMMANDS + WARM_UP {
            let began = Instant::now();
            let answer = run(provost, &wanted).await;
            let took = began.elapsed();
            assert_eq!(answer["result"]["exitCode"], 0, "{answer}");
            let began = Instant::now();
            launch::run_and_capture(Path::new("true"), &none).unwrap();
            if round >= WARM_UP {
                asked.push(took.as_secs_f64() * 1000.0);
                plain.push(began.elapsed().as_secs_f64() * 1000.0);
            }
        }
        let (asked, plain) = (median(asked.into_iter()), median(plain.into_iter()));
        println!("`true` over HTTP in mode full: p50 {asked:.2} ms; a plain spawn {plain:.2} ms");
        at_most("ms above the plain spawn", asked - plain, 3.0);
    }
}

async fn ask(base: &str, token: &str, method: &str, path: &str, body: &Value) -> Value {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let request = http.request(method.parse().unwrap(), format!("{base}{path}"));
    let request = request.bearer_auth(token);
    let request = if body.is_null() { request } else { request.json(body) };
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let value: Value = answer.json().await.unwrap();
    assert!(status.is_success(), "{path}: {value}");
    value
}

async fn run(server: &Server, wanted: &Value) -> Value {
    static CLIENT: std::sync::OnceLock<reqwest::Client> = std::sync::OnceLock::new();
    let token = server.token.as_deref().unwrap_or_default();
    let http =
        CLIENT.get_or_init(|| provost_runner::model::local_http_client_builder().build().unwrap());
    let answer = http.post(&server.url).bearer_auth(token).json(wanted).send().await.unwrap();
    answer.json().await.unwrap()
}

/// `1.23ms`, `456.00us` or `1.00s`, in microseconds.
fn micros(text: &str) -> f64 {
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let value: f64 = digits.parse().unwrap();
    match &text[digits.len()..] {
        "us" => value,
        "ms" => value * 1e3,
        _ => value * 1e6,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn at_most(what: &str, figure: f64, bound: f64) {
    let word = if figure <= bound { "holds" } else { "MISSED" };
    println!("{what}: {figure:.2} (at most {bound}): {word}");
}

fn at_least(what: &str, figure: f64, bound: f64) {
    let word = if figure >= bound { "holds" } else { "MISSED" };
    println!("{what}: {figure:.2} (at least {bound}): {word}");
}
