//! Benchmark of the daemon: start, idle memory, and many followers of the event stream.
//!
//! `cargo xtask bench http`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

#[path = "daemon/readiness.rs"]
mod readiness;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Idle time after which a process has returned its unused memory.
const REST: Duration = Duration::from_secs(12);
const STARTS: usize = 15;
const CLIENTS: usize = 200;
const RATE: u64 = 1000;
const SECONDS: u64 = 10;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let bench = Bench::new();
    bench.starts().await;
    bench.followers().await;
}

struct Bench {
    binary: PathBuf,
    folder: TempDir,
}

struct Daemon {
    pid: Pid,
    address: SocketAddr,
    token: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        kill_process(self.pid, Signal::TERM).unwrap();
        while test_kill_process(self.pid).is_ok() {
            std::thread::yield_now();
        }
    }
}

impl Bench {
    fn new() -> Self {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_provost"));
        Self { binary, folder: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the daemon; returns the time from exec to the first healthy response.
    async fn start(&self) -> (Daemon, Duration) {
        let data = self.data();
        let log = self.folder.path().join("log");
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let began = Instant::now();
        let pid = launch::spawn_detached(&self.binary, &args, &log, &[]).unwrap();
        let address = loop {
            if let Some(address) = readiness::find_address(&data, pid)
                && readiness::is_healthy(address).await
            {
                break address;
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        };
        let took = began.elapsed();
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        (Daemon { pid, address, token }, took)
    }

    async fn starts(&self) {
        drop(self.start().await);
        let mut times = Vec::new();
        let mut resident = 0;
        for _ in 0..STARTS {
            let (daemon, took) = self.start().await;
            times.push(took.as_secs_f64() * 1000.0);
            if times.len() == STARTS {
                tokio::time::sleep(REST).await;
            }
            resident = resident_kib(daemon.pid);
        }
        times.sort_by(f64::total_cmp);
        print_result("ms from exec to the first healthy answer, p50", times[STARTS / 2], 150.0);
        print_result("MB of memory at rest", f64::from(resident) * 1024.0 / 1e6, 20.0);
    }

    /// 200 clients follow 1 000 events a second for 10 s.
    async fn followers(&self) {
        let (daemon, _) = self.start().await;
        let daemon = Arc::new(daemon);
        let head = head(&daemon).await;
        let last = head + RATE * SECONDS;
        let received = Arc::new(AtomicU64::new(0));
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let stream = follow(&daemon, head).await;
            let received = Arc::clone(&received);
            clients.push(tokio::spawn(read_all(stream, head, last, received)));
        }
        let began = Instant::now();
        write(&daemon, began).await;
        let wrote = began.elapsed();
        for client in clients {
            client.await.unwrap();
        }
        let lag = began.elapsed().saturating_sub(wrote);
        let total = received.load(Ordering::Relaxed);
        println!(
            "{CLIENTS} clients received {total} events in order, {} each; written in {:.1} s, \
             the last client was done {:.0} ms later; the daemon holds {} KiB",
            RATE * SECONDS,
            wrote.as_secs_f64(),
            lag.as_secs_f64() * 1000.0,
            resident_kib(daemon.pid)
        );
        let expected = u64::try_from(CLIENTS).unwrap() * RATE * SECONDS;
        let missing = expected.saturating_sub(total);
        print_result(
            "events lost or out of order",
            f64::from(u32::try_from(missing).unwrap()),
            0.0,
        );
    }
}

async fn head(daemon: &Daemon) -> u64 {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let url = format!("http://{}/api/audit/verify", daemon.address);
    let report = http.get(url).bearer_auth(&daemon.token).send().await.unwrap();
    report.json::<Value>().await.unwrap()["events"].as_u64().unwrap()
}

async fn follow(daemon: &Daemon, after: u64) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(daemon.address).await.unwrap();
    let head = format!(
        "GET /api/events?after={after} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        daemon.address, daemon.token
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut reader = BufReader::with_capacity(64 * 1024, socket);
    let mut line = String::new();
    reader.read_line(&mut line).await.unwrap();
    assert!(line.contains("200"), "{line}");
    reader
}

/// Reads `id:` lines until the last; each must be the next.
async fn read_all(mut stream: BufReader<TcpStream>, head: u64, last: u64, count: Arc<AtomicU64>) {
    let (mut line, mut seen) = (Vec::new(), head);
    while seen < last {
        line.clear();
        assert!(
            stream.read_until(b'\n', &mut line).await.unwrap() > 0,
            "the server closed the stream at {seen}"
        );
        if let Some(id) = line.strip_prefix(b"id: ") {
            let id: u64 = std::str::from_utf8(id).unwrap().trim().parse().unwrap();
            assert_eq!(id, seen + 1, "out of order");
            seen = id;
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes at this rate over a few persistent connections.
async fn write(daemon: &Arc<Daemon>, began: Instant) {
    const WRITERS: u64 = 8;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let daemon = Arc::clone(daemon);
            tokio::spawn(async move {
                let http = provost_runner::model::local_http_client_builder().build().unwrap();
                let url = format!("http://{}/api/tokens", daemon.address);
                for n in 0..RATE * SECONDS / WRITERS {
                    let due = Duration::from_micros((n * WRITERS + writer) * 1_000_000 / RATE);
                    tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
                    let body = serde_json::json!({ "class": "viewer", "label": "bench" });
                    let sent = http.post(&url).bearer_auth(&daemon.token).json(&body).send().await;
                    assert_eq!(sent.unwrap().status(), 200);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

fn resident_kib(pid: Pid) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn print_result(what: &str, value: f64, limit: f64) {
    let word = if value <= limit { "holds" } else { "MISSED" };
    println!("{word}: {what} = {value:.1} (promised ≤ {limit})\n");
}
