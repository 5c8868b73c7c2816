//! Benchmark of the runner: the overhead of a session over its model and tools, compared
//! with reading the provider directly and with pi.
//!
//! `cargo xtask bench runner`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

#[expect(dead_code, reason = "this benchmark asks less of a daemon than others")]
#[path = "../daemon/mod.rs"]
mod daemon;
mod pi;
mod provider;

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use serde_json::{Value, json};

use daemon::Daemon;
use pi::Pi;
use provider::{CALLS, PACE, Provider, now};

const ROUNDS: usize = 5;
const TOKENS: usize = 500;
const SESSIONS: usize = 50;
const SECONDS: usize = 10;
const MESSAGES: usize = 2000;
const OPENED: usize = 50;
const ROLE: &str = "---\nname: dev\nskills: [fs.read, terminal.runCommand]\n---\nYou build.\n";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let provider = Provider::start().await;
    let settings = tempfile::tempdir().unwrap();
    let config = settings.path().join("config.toml");
    let text = format!(
        "[providers.fake]\nwire = \"chat\"\nbase_url = \"http://{}/v1\"\nkey = \"none-of-it\"\n",
        provider.address
    );
    std::fs::write(&config, text).unwrap();
    let own = [("PROVOST_CONFIG", config.to_str().unwrap()), ("PROVOST_KERNEL_IDLE_MINUTES", "0")];
    let daemon = Daemon::start(&own).await;
    trusted(&daemon).await;
    round_trips(&daemon, &provider).await;
    latency(&daemon, &provider).await;
    log_size(&daemon).await;
    many(&daemon).await;
    opening(&daemon).await;
}

/// A role that may run commands, and a mode without approvals.
async fn trusted(daemon: &Daemon) {
    let roles = daemon.folder.path().join("app/.provost/roles");
    std::fs::create_dir_all(&roles).unwrap();
    std::fs::write(roles.join("dev.md"), ROLE).unwrap();
    let roles = daemon.get("/api/projects/app/roles").await;
    let (file, hash) = (".provost/roles/dev.md", &roles["roles"][0]["hash"]);
    let trust = json!({ "what": "role", "file": file, "hash": hash });
    daemon.post("/api/projects/app/trust", trust).await;
    let http = daemon.http.put(format!("http://{}/api/projects/app/mode", daemon.address));
    let full = json!({ "mode": "full", "minutes": 60 });
    let answer = http.bearer_auth(&daemon.token).json(&full).send().await.unwrap();
    assert!(answer.status().is_success());
}

async fn session(daemon: &Daemon, model: &str) -> String {
    let wanted = json!({ "project": "app", "role": "dev", "model": format!("fake/{model}") });
    let opened = daemon.post("/api/sessions", wanted).await;
    opened["id"].as_str().unwrap_or_else(|| unreachable!("{opened}")).to_owned()
}

/// `true` as the model sees it: from the end of its call to the request with the result.
async fn round_trips(daemon: &Daemon, provider: &Provider) {
    let pi = Pi::install(provider);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let session = session(daemon, "calls").await;
    send_and_read_turn(daemon, &session).await;
    provider.trips();
    for _ in 0..ROUNDS {
        let reading = send_and_read_turn(daemon, &session).await;
        assert!(reading.text.contains("Done."), "{}", reading.text);
        ours.extend(provider.trips());
        if let Some(pi) = &pi {
            pi.turn().await;
            theirs.extend(provider.trips());
        }
    }
    assert_eq!(ours.len(), ROUNDS * CALLS);
    let (p50, p90) = (quantile(&mut ours, 50), quantile(&mut ours, 90));
    println!("tool round trip, `true`, sandboxed and logged: p50 {p50:.2} ms, p90 {p90:.2} ms");
    at_most("ms of a tool round trip", p50, 10.0);
    if pi.is_none() {
        println!("pi could not be installed; the comparison with it is missing");
        return;
    }
    assert_eq!(theirs.len(), ROUNDS * CALLS);
    let (middle, high) = (quantile(&mut theirs, 50), quantile(&mut theirs, 90));
    println!("tool round trip of pi, not sandboxed: p50 {middle:.2} ms, p90 {high:.2} ms");
    at_most("tool round trip × that of pi", p50 / middle, 1.0);
}

/// The events of a turn.
#[derive(Default)]
struct TurnReading {
    text: String,
    /// Delay of each token, in milliseconds.
    delays: Vec<f64>,
}

impl TurnReading {
    fn add_text(&mut self, text: &str) {
        let at = now();
        self.text.push_str(text);
        for token in text.split_whitespace() {
            if let Some(sent) = token.split_once(':').and_then(|(_, sent)| sent.parse::<u64>().ok())
            {
                #[expect(clippy::cast_precision_loss, reason = "delays are small")]
                self.delays.push((at - sent) as f64 / 1e6);
            }
        }
    }

    /// Number of tokens that are missing or out of order.
    fn lost(&self, count: usize) -> usize {
        let numbers = self.text.split_whitespace().map(|token| token.split(':').next());
        let mut numbers = numbers.map(|number| number.and_then(|n| n.parse::<usize>().ok()));
        (0..count).filter(|n| numbers.next().flatten() != Some(*n)).count()
    }
}

/// Sends a message and reads the turn from the response.
async fn send_and_read_turn(daemon: &Daemon, session: &str) -> TurnReading {
    let path = format!("http://{}/api/sessions/{session}/messages", daemon.address);
    let request = daemon.http.post(path).bearer_auth(&daemon.token);
    let request = request.header("accept", "text/event-stream").json(&json!({ "text": "go" }));
    read(request).await
}

/// Sends a message and follows the session.
async fn follow(daemon: &Daemon, session: &str) -> TurnReading {
    let detail = daemon.get(&format!("/api/sessions/{session}")).await;
    let after = &detail["cursor"];
    let path = format!("http://{}/api/sessions/{session}/events?after={after}", daemon.address);
    let following = read(daemon.http.get(path).bearer_auth(&daemon.token));
    let path = format!("/api/sessions/{session}/messages");
    let (reading, _) = tokio::join!(following, daemon.post(&path, json!({ "text": "go" })));
    reading
}

/// Reads events of Provost or of the provider until the turn ends.
async fn read(request: reqwest::RequestBuilder) -> TurnReading {
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    let mut pieces = answer.bytes_stream();
    let (mut reading, mut rest) = (TurnReading::default(), Vec::new());
    while let Some(piece) = pieces.next().await {
        rest.extend_from_slice(&piece.unwrap());
        while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
            let frame: Vec<u8> = rest.drain(..end + 2).collect();
            let frame = String::from_utf8(frame).unwrap();
            let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) else {
                continue;
            };
            let event: Value = serde_json::from_str(data).unwrap_or_default();
            let kind = event["kind"].as_str().unwrap_or_default();
            let text = event["choices"][0]["delta"]["content"].as_str();
            let text = text.or(event["body"]["text"].as_str().filter(|_| kind == "TEXT_DELTA"));
            text.inspect(|text| reading.add_text(text));
            if kind.starts_with("TURN_F") {
                return reading;
            }
        }
    }
    reading
}

/// The overhead of a session per token.
async fn latency(daemon: &Daemon, provider: &Provider) {
    let model = format!("tokens-{TOKENS}");
    let session = session(daemon, &model).await;
    let (mut direct, mut answered, mut followed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let path = format!("http://{}/v1/chat/completions", provider.address);
        let request = daemon.http.post(path).json(&json!({ "model": model, "messages": [] }));
        direct.extend(read(request).await.delays);
        answered.extend(send_and_read_turn(daemon, &session).await.delays);
        followed.extend(follow(daemon, &session).await.delays);
    }
    assert!(followed.len() == ROUNDS * TOKENS && answered.len() == followed.len());
    let bare = quantile(&mut direct, 50);
    println!("a token read from the provider directly: p50 {bare:.3} ms");
    for (what, times) in [("the answer to a message", &mut answered), ("a follower", &mut followed)]
    {
        let (p50, p99) = (quantile(times, 50), quantile(times, 99));
        println!("a token as {what} gets it: p50 {p50:.3} ms, p99 {p99:.3} ms");
        at_most("ms added to a token", p50 - bare, 1.0);
    }
}

/// What a streamed answer adds to the log.
async fn log_size(daemon: &Daemon) {
    let session = session(daemon, &format!("tokens-{TOKENS}")).await;
    let text = send_and_read_turn(daemon, &session).await.text;
    let path = format!("http://{}/api/sessions/{session}/events", daemon.address);
    let request = daemon.http.get(path).bearer_auth(&daemon.token);
    let mut pieces = request.send().await.unwrap().bytes_stream();
    let mut all = Vec::new();
    while !all.windows(13).any(|end| end == b"\nevent: live\n") {
        all.extend_from_slice(&pieces.next().await.unwrap().unwrap());
    }
    let all = String::from_utf8(all).unwrap();
    let mut bytes = 0;
    for data in all.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data).unwrap();
        let blob = event["body"]["size"].as_u64().filter(|_| event["body"]["$blob"].is_string());
        bytes += data.len() + usize::try_from(blob.unwrap_or(0)).unwrap();
    }
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let (bytes, text) = (bytes as f64, text.len() as f64);
    println!("a turn of {text} bytes of text at 100 tokens/s: {bytes} bytes in the log");
    at_most(
        "bytes in the log per byte of text, without 6 KiB per turn",
        (bytes - 6144.0) / text,
        1.5,
    );
}

/// Many concurrent sessions.
async fn many(daemon: &Daemon) {
    let count = SECONDS * 1000 / usize::try_from(PACE.as_millis()).unwrap();
    let model = format!("tokens-{count}");
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(session(daemon, &model).await);
    }
    let (before, began) = (used(daemon), Instant::now());
    let all = futures::future::join_all(
        sessions.iter().map(|session| send_and_read_turn(daemon, session)),
    )
    .await;
    let (used, took) = (used(daemon).saturating_sub(before), began.elapsed());
    let lost: usize = all.iter().map(|reading| reading.lost(count)).sum();
    let mut delays: Vec<f64> = all.into_iter().flat_map(|reading| reading.delays).collect();
    let (p50, p99) = (quantile(&mut delays, 50), quantile(&mut delays, 99));
    println!(
        "{SESSIONS} sessions, {} tokens in {:.1} s: {lost} lost, p50 {p50:.2} ms, p99 {p99:.2} ms",
        SESSIONS * count,
        took.as_secs_f64()
    );
    #[expect(clippy::cast_precision_loss, reason = "few")]
    at_most("tokens lost", lost as f64, 0.0);
    at_most("of one core, by the daemon", used.as_secs_f64() / took.as_secs_f64(), 0.5);
}

/// The CPU time of the daemon so far.
fn used(daemon: &Daemon) -> Duration {
    let stat = format!("/proc/{}/stat", daemon.pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(stat).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Opening a session with many messages, as the web UI does.
async fn opening(daemon: &Daemon) {
    let session = session(daemon, "short").await;
    for _ in 0..MESSAGES / 2 {
        send_and_read_turn(daemon, &session).await;
    }
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..OPENED {
        let began = Instant::now();
        let path = format!("http://{}/api/sessions/{session}", daemon.address);
        let answer = daemon.http.get(path).bearer_auth(&daemon.token).send().await.unwrap();
        let bytes = answer.bytes().await.unwrap();
        let detail: Value = serde_json::from_slice(&bytes).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(detail["items"].as_array().unwrap().len(), MESSAGES);
        size = bytes.len();
    }
    let (p50, p99) = (quantile(&mut times, 50), quantile(&mut times, 99));
    println!("a session of {MESSAGES} messages, {size} bytes: p50 {p50:.1} ms, p99 {p99:.1} ms");
    at_most("ms to open it", p50, 50.0);
}

fn quantile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * percent / 100]
}

fn at_most(what: &str, figure: f64, bound: f64) {
    let word = if figure <= bound { "holds" } else { "MISSED" };
    println!("{what}: {figure:.2} (at most {bound}): {word}");
}
