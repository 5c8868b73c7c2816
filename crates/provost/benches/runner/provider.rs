//! A provider of Chat Completions that responds at once; its tokens carry the time at which
//! they were sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

/// Tool calls of the model per turn.
pub(crate) const CALLS: usize = 40;
/// Interval between two tokens.
pub(crate) const PACE: Duration = Duration::from_millis(10);

/// Time from the end of an answer with a tool call to the request with its result.
type Trips = Arc<Mutex<(Option<Instant>, Vec<Duration>)>>;

pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    trips: Trips,
}

/// Nanoseconds since the benchmark began.
pub(crate) fn now() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGAN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap()
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let trips = Trips::default();
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&trips));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, trips }
    }

    /// The round trips since the last time, in milliseconds.
    pub(crate) fn trips(&self) -> Vec<f64> {
        let mut trips = self.trips.lock().unwrap();
        trips.0 = None;
        let trips = std::mem::take(&mut trips.1);
        trips.iter().map(|trip| trip.as_secs_f64() * 1000.0).collect()
    }
}

/// The model selects the answer: `calls`, `short`, or `tokens-N`.
async fn answer(State(trips): State<Trips>, Json(asked): Json<Value>) -> Response {
    let model = asked["model"].as_str().unwrap_or_default();
    if let Some(count) = model.strip_prefix("tokens-") {
        return tokens(count.parse().unwrap());
    }
    if model == "short" {
        return whole(&[
            text_chunk(&"It is done, and nothing else was to do. ".repeat(5)),
            end("stop"),
        ]);
    }
    let came = Instant::now();
    let mut trips = trips.lock().unwrap();
    let messages = asked["messages"].as_array().unwrap();
    let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
    let done = messages.iter().rev().take_while(|message| role(message) != "user");
    let done = done.filter(|message| role(message) == "tool").count();
    if done > 0 {
        let ended = trips.0.take().unwrap();
        trips.1.push(came - ended);
    }
    if done == CALLS {
        return whole(&[text_chunk("Done."), end("stop")]);
    }
    let tools = asked["tools"].as_array().unwrap();
    let has = |name: &str| tools.iter().any(|tool| tool["function"]["name"] == name);
    let name = if has("bash") { "bash" } else { "terminal_runCommand" };
    // A different line each time: repeated calls would trigger the loop detector.
    let arguments = json!({ "command": format!("true {} {done}", messages.len()) }).to_string();
    let call = json!({
        "index": 0,
        "id": format!("call_{}", messages.len()),
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    });
    let answer = whole(&[chunk(&json!({ "tool_calls": [call] }), &Value::Null), end("tool_calls")]);
    trips.0 = Some(Instant::now());
    answer
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let kind = "chat.completion.chunk";
    let chunk = json!({ "id": "c", "object": kind, "model": "fake", "choices": [choice] });
    format!("data: {chunk}\n\n")
}

fn text_chunk(text: &str) -> String {
    chunk(&json!({ "content": text }), &Value::Null)
}

fn end(reason: &str) -> String {
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
    let usage = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake", "choices": [], "usage": usage });
    format!("{}data: {usage}\n\ndata: [DONE]\n\n", chunk(&json!({}), &json!(reason)))
}

fn whole(chunks: &[String]) -> Response {
    ([("content-type", "text/event-stream")], chunks.concat()).into_response()
}

/// A stream of tokens, each with its number and time.
fn tokens(count: usize) -> Response {
    let mut ticks = interval(PACE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pieces = stream::unfold((0, ticks), move |(n, mut ticks)| async move {
        if n > count {
            return None;
        }
        ticks.tick().await;
        let piece = if n == count { end("stop") } else { text_chunk(&format!("{n}:{} ", now())) };
        Some((Ok::<_, std::convert::Infallible>(piece), (n + 1, ticks)))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(pieces)).into_response()
}
