//! Prints events and the hashes of all views after each: the protocol's samples in their order,
//! and then in random orders. `cargo xtask test` compares the hashes with those of `core_replay`
//! in WebAssembly.

mod core_log;
mod random;

use std::io::{self, Write as _};

use core_log::CoreLog;
use random::ReplayRandom;
use serde_json::{Value, json};

/// One fact a line, under headings with the kind.
const SAMPLES: &str = include_str!("../../provost-proto/tests/golden/files/events.txt");

/// How many random logs there are, and how long each is.
const LOGS: u64 = 20;
const EVENTS: u64 = 60;

fn main() -> io::Result<()> {
    let lines = SAMPLES.lines().filter(|line| line.starts_with('{'));
    let samples: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut log = CoreLog::default();
    let mut out = io::stdout().lock();
    let mut send = |request: Value| {
        let request = request.to_string();
        let reply = log.call(request.as_bytes());
        writeln!(out, "{request}\n{}", String::from_utf8_lossy(&reply))
    };
    let event = |seq: u64, sample: &Value| json!({ "seq": seq, "kind": sample["kind"], "body": sample["body"] });
    for (seq, sample) in (1..).zip(&samples) {
        send(event(seq, sample))?;
    }
    for seed in 1..=LOGS {
        let mut random = ReplayRandom::new(seed);
        send(Value::Null)?;
        for seq in 1..=EVENTS {
            send(event(seq, random.choose(&samples)))?;
        }
    }
    Ok(())
}
