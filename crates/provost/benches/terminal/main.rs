//! Benchmark of the terminal: output and keystrokes through kernel, daemon and WebSocket,
//! compared with a bare PTY that is only read.
//!
//! `cargo xtask bench terminal`; arguments select parts: `seq`,
//! `logs`, `memory`, `snapshot`, `echo`, `port`, `stop`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

mod client;
#[path = "../daemon/mod.rs"]
mod daemon;
mod peers;
mod runtime;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use provost_sandbox::confine::{LayerSelection, ResourceLimits, Sandbox, SandboxCommand};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};
use provost_sandbox::{probe, pty};
use serde_json::json;

use client::Client;
use daemon::{Daemon, resident_kib};

const ROUNDS: usize = 5;
const ECHOES: usize = 2000;
/// Letters typed into one terminal before the next one.
const TURN: usize = 100;
/// How many lines have been run.
static LINES: AtomicUsize = AtomicUsize::new(0);
const SIZE: pty::PtySize = pty::PtySize { cols: 80, rows: 24 };

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo bench` adds its own argument.
    let parts: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let daemon = Daemon::start(&[("SHELL", "/bin/bash")]).await;
    let logs = daemon.folder.path().join("app/logs");
    std::fs::write(&logs, colored(200_000_000)).unwrap();
    let mut peers = peers::Peer::all().await;
    let mut client = daemon.attach().await;
    client.run("PS1=; bind 'set enable-bracketed-paste off'").await;
    let logs = format!("cat {}", logs.display());
    if wants("seq") {
        output(&daemon, &mut peers, "seq 1 3000000", "seq 1 3000000").await;
    }
    if wants("logs") {
        output(&daemon, &mut peers, "a colored log of 200 MB", &logs).await;
    }
    // A client that does not read is disconnected after a while.
    client = daemon.attach().await;
    if wants("memory") {
        memory(&daemon, &mut client).await;
    }
    if wants("snapshot") {
        snapshot(&daemon, &mut client).await;
    }
    if wants("echo") {
        echo(&mut client, &mut peers).await;
    }
    drop(peers);
    if wants("port") {
        runtime::port(&daemon).await;
    }
    if wants("stop") {
        runtime::stop(&daemon).await;
    }
}

/// Throughput of the output of a line, alternating between terminals.
async fn output(daemon: &Daemon, peers: &mut [peers::Peer], what: &str, line: &str) {
    let (mut one, mut three, mut passed) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    let mut others = vec![Vec::new(); peers.len()];
    for _ in 0..ROUNDS {
        // Alternating in one loop, so that other load affects all alike.
        let bare = bare(daemon, line);
        let mut client = daemon.attach().await;
        client.run("true").await;
        one.push(client.run(line).await / bare);
        passed[0].push(client.passed);
        let stalled = daemon.attach().await;
        let mut second = daemon.attach().await;
        let reading = tokio::spawn(async move { while second.next().await.is_some() {} });
        three.push(client.run(line).await / bare);
        passed[1].push(client.passed);
        reading.abort();
        drop(stalled);
        for (peer, rates) in peers.iter_mut().zip(&mut others) {
            rates.push(peer.run(line).await / bare);
        }
    }
    report(&format!("bytes/s of {what} to one client / bare"), &mut one, "≥ 0.8");
    report(&format!("bytes/s of {what}, three clients, one stalled / bare"), &mut three, "≥ 0.6");
    for (peer, rates) in peers.iter().zip(&mut others) {
        report(&format!("bytes/s of {what} through {} / bare", peer.name), rates, "less");
    }
    for (who, passed) in ["one client", "three clients"].into_iter().zip(&mut passed) {
        passed.sort_by(f64::total_cmp);
        let share = passed[ROUNDS / 2] * 100.0;
        println!("  {who}: {share:.0} % of it came byte by byte, the rest as what it looks like");
    }
    println!();
}

/// Delay of the echo of a typed letter, alternating between terminals.
async fn echo(client: &mut Client, peers: &mut [peers::Peer]) {
    client.run("stty raw -echo").await;
    client.send_keys("cat\n").await;
    for peer in &mut *peers {
        peer.run("stty raw -echo").await;
        peer.send_keys("cat\n").await;
    }
    let mut times = vec![Vec::new(); peers.len() + 1];
    for _ in 0..ECHOES / TURN {
        client.echoes(&mut times[0]).await;
        for (peer, times) in peers.iter_mut().zip(&mut times[1..]) {
            peer.echoes(times).await;
        }
    }
    let names = std::iter::once("Provost").chain(peers.iter().map(|peer| peer.name));
    for (name, times) in names.zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let (p50, p99) = (times[ECHOES / 2], times[ECHOES * 99 / 100]);
        println!("echo through {name}: p50 {p50:.0} µs, p99 {p99:.0} µs");
    }
}

/// A terminal that can be typed into and read.
trait Typing {
    async fn send_keys(&mut self, keys: &str);
    /// Waits for more output.
    async fn hear(&mut self);
    fn seen(&mut self) -> &mut Vec<u8>;

    /// Microseconds until the echo of each letter.
    async fn echoes(&mut self, times: &mut Vec<f64>) {
        for letter in letters() {
            let began = Instant::now();
            self.send_keys(&char::from(letter).to_string()).await;
            self.seen().clear();
            while !self.seen().contains(&letter) {
                self.hear().await;
            }
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
}

/// The letters of one round.
fn letters() -> impl Iterator<Item = u8> {
    (b'a'..=b'z').cycle().take(TURN)
}

/// A command line with an end marker that occurs nowhere else: neither in the echo of the
/// line nor on a screen with earlier lines.
struct Line {
    typed: String,
    end: String,
}

impl Line {
    fn new(line: &str) -> Self {
        let n = LINES.fetch_add(1, Ordering::Relaxed);
        Self { typed: format!("{line}; echo e''nd-of-{n}.\r"), end: format!("end-of-{n}.") }
    }

    fn is_done(&self, seen: &[u8]) -> bool {
        let last = &seen[seen.len().saturating_sub(64)..];
        last.windows(self.end.len()).any(|part| part == self.end.as_bytes())
    }
}

/// Lines as a build prints them.
fn colored(size: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 200);
    let mut n = 0;
    while text.len() < size {
        n += 1;
        let line = format!(
            "\x1b[2m2026-01-01T00:00:{:02}Z\x1b[0m \x1b[3{}mINFO\x1b[0m module::{}: handled request {n} in {} ms\r\n",
            n % 60,
            n % 8,
            n % 13,
            n % 97
        );
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// Bytes per second of a command in a PTY that is read by a plain loop.
fn bare(daemon: &Daemon, line: &str) -> f64 {
    let app = daemon.folder.path().join("app");
    let scratch = tempfile::tempdir().unwrap();
    let data = daemon.folder.path().join("data");
    let places = SandboxPaths {
        project: &app,
        home: daemon.folder.path(),
        data: &data,
        scratch: scratch.path(),
        run_homes: &data.join("homes/1"),
        readable: &[],
        private: &[],
    };
    let policy = SandboxPolicy::new(SandboxProfile::Terminal, &places);
    let wall = Sandbox::new(
        policy,
        &probe::probe_machine(),
        LayerSelection::Auto,
        ResourceLimits::default(),
    )
    .unwrap();
    let (controller, terminal) = pty::open_pty(SIZE).unwrap();
    let mut command = SandboxCommand::new("/bin/bash", &["-c", line]);
    command.env.push(("PATH".into(), "/usr/bin:/bin".into()));
    terminal.attach_to_command(&mut command).unwrap();
    let began = Instant::now();
    let _child = wall.spawn(command).unwrap();
    let (mut buffer, mut bytes) = (vec![0; 64 * 1024], 0);
    loop {
        match controller.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => bytes += n_read,
            Err(_) => {
                let mut lines =
                    [rustix::event::PollFd::new(&controller, rustix::event::PollFlags::IN)];
                rustix::event::poll(&mut lines, None).unwrap();
            }
        }
    }
    rate(bytes, began)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn rate(bytes: usize, began: Instant) -> f64 {
    bytes as f64 / began.elapsed().as_secs_f64()
}

fn report(what: &str, ratios: &mut [f64], promised: &str) {
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    println!(
        "{what} = {:.2} ({low:.2} to {high:.2}; promised {promised})",
        ratios[ratios.len() / 2]
    );
}

/// Memory of the kernel with stalled clients during a flood of output.
async fn memory(daemon: &Daemon, client: &mut Client) {
    client.run("head -c 20000000 /dev/zero | tr '\\0' x").await;
    let kernel = daemon.kernel("app").await;
    let before = resident_kib(kernel);
    let mut stalled = Vec::new();
    for _ in 0..10 {
        stalled.push(daemon.attach().await);
    }
    client.run("head -c 100000000 /dev/zero | tr '\\0' y").await;
    let each = (f64::from(resident_kib(kernel)) - f64::from(before)) / 10.0;
    println!(
        "kernel: {before} KiB, and {each:.0} KiB for each stalled client in 100 MB (promised ≤ 1024)"
    );
}

async fn snapshot(daemon: &Daemon, client: &mut Client) {
    client.run("clear; printf '\\e[3J'; head -976 logs").await;
    // The reply comes after all output was rendered.
    let read = json!({ "action": "pty.read", "params": {} });
    daemon.post("/api/projects/app/actions", read).await;
    let began = Instant::now();
    let mut late = daemon.attach().await;
    while late.n_snapshots == 0 || late.seen.is_empty() {
        late.next().await.unwrap();
    }
    let took = began.elapsed().as_secs_f64() * 1e3;
    println!(
        "attach with 1000 lines: {took:.1} ms with the ticket, {} bytes (promised ≤ 150 kB)",
        late.seen.len()
    );
}
