//! sandbox-agent, which also reads files and runs commands for agents over HTTP.
//!
//! It only checks the token of a request: it evaluates no rules, records no decisions and
//! runs commands without a sandbox.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use provost_sandbox::launch;
use rustix::process::Pid;
use serde_json::{Value, json};

use crate::{Bench, COMMANDS, ROUNDS, Server, WARM_UP, at_most, median, run};

const PACKAGE: &str = "@sandbox-agent/cli@0.4.2";
const TOKEN: &str = "benchmark";

/// Limit for the server to start listening.
const START: Duration = Duration::from_secs(30);

pub(crate) struct SandboxAgent {
    /// The server; its URL runs a command.
    server: Server,
    /// The URL that reads the same file as Provost does.
    read: String,
}

impl SandboxAgent {
    /// Installs it from the npm registry and starts it; `None` if it is not available.
    pub(crate) fn start(bench: &Bench) -> Option<Self> {
        let folder = bench.folder.path().join("sandbox-agent");
        std::fs::create_dir_all(&folder).ok()?;
        let prefix = folder.to_str()?;
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", prefix];
        let done =
            launch::run_and_capture(Path::new("npm"), &[&install[..], &[PACKAGE]].concat()).ok()?;
        let platform = match std::env::consts::ARCH {
            "x86_64" => "cli-linux-x64",
            "aarch64" => "cli-linux-arm64",
            _ => return None,
        };
        let scope = folder.join("node_modules/@sandbox-agent");
        // Not the wrapper script, which would survive a signal to the server.
        let program = scope.join(platform).join("bin/sandbox-agent");
        if !done.status.success() || !program.exists() {
            return None;
        }
        // It does not report the port if it chooses one.
        let address = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?;
        let port = address.port().to_string();
        let args = ["server", "--no-telemetry", "--token", TOKEN, "--port", &port];
        let home = [("HOME".into(), folder.clone().into())];
        let pid = launch::spawn_detached(&program, &args, &folder.join("log"), &home).ok()?;
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let url = format!("http://{address}/v1/processes/run");
        let server = Server { pid, url, token: Some(TOKEN.to_owned()) };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if began.elapsed() > START {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let file = bench.project().join("file.txt");
        let read = format!("http://{address}/v1/fs/file?path={}", file.to_str()?);
        Some(Self { server, read })
    }

    /// The same read and the same command from both, in turns.
    pub(crate) async fn compare(&self, bench: &Bench, provost: &Server) {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let content = http.get(&self.read).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(content.bytes().await.unwrap().len(), 4096);
        println!("sandbox-agent checks no action, records no decision and confines nothing");
        self.reads(bench, provost);
        self.commands(provost).await;
    }

    fn reads(&self, bench: &Bench, provost: &Server) {
        let wanted = json!({ "action": "fs.readFile", "params": { "path": "file.txt" } });
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let ours = [1, 16].map(|connections| bench.wrk(provost, connections, &wanted));
            let theirs = [1, 16].map(|connections| {
                let get = "wrk.method = 'GET'\n";
                bench.wrk_with(&self.server, connections, &self.read, get)
            });
            rounds.push((ours, theirs));
        }
        let (ours, theirs) = rounds[ROUNDS / 2];
        println!(
            "4 KB over HTTP, one connection: p50 {:.0} µs; sandbox-agent {:.0} µs",
            ours[0].p50, theirs[0].p50
        );
        let slower = median(rounds.iter().map(|(ours, theirs)| ours[0].p50 / theirs[0].p50));
        at_most("p50 of a read with one connection, × sandbox-agent", slower, 1.6);
        println!(
            "4 KB over HTTP, 16 connections: {:.0} a second; sandbox-agent {:.0}",
            ours[1].per_second, theirs[1].per_second
        );
        let faster =
            median(rounds.iter().map(|(ours, theirs)| ours[1].per_second / theirs[1].per_second));
        println!("reads a second, × sandbox-agent: {faster:.2} (nothing is promised)");
    }

    /// `true`, in mode full, against the same without a decision and without a sandbox.
    async fn commands(&self, provost: &Server) {
        let ours = json!({ "action": "terminal.runCommand", "params": { "argv": ["true"] } });
        let theirs = json!({ "command": "true" });
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..COMMANDS + WARM_UP {
            let turns =
                [(provost, &ours, "/result/exitCode"), (&self.server, &theirs, "/exitCode")];
            for ((server, wanted, exit_code), times) in turns.into_iter().zip(&mut times) {
                let began = Instant::now();
                let answer = run(server, wanted).await;
                let took = began.elapsed();
                assert_eq!(answer.pointer(exit_code), Some(&Value::from(0)), "{answer}");
                if round >= WARM_UP {
                    times.push(took.as_secs_f64() * 1000.0);
                }
            }
        }
        let [ours, theirs] = times.map(|times| median(times.into_iter()));
        println!("`true` over HTTP: p50 {ours:.2} ms; sandbox-agent {theirs:.2} ms");
        at_most("p50 of `true`, × sandbox-agent", ours / theirs, 2.0);
    }
}
