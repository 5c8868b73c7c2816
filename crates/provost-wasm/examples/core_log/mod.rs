//! The views of a log in memory, driven by requests.

use provost_core::fold::MemoryViews;
use provost_proto::{Actor, Event, Hash, Stream};
use serde_json::{Value, json};
use uuid::Uuid;

/// The views.
#[derive(Debug, Default)]
pub(crate) struct CoreLog {
    views: MemoryViews,
}

impl CoreLog {
    /// Folds an event, `{"seq": …, "kind": …, "body": …}`, or begins again with `null`, and returns
    /// the hash of all views.
    pub(crate) fn call(&mut self, request: &[u8]) -> Vec<u8> {
        let request: Value = serde_json::from_slice(request).unwrap_or_default();
        if request.is_null() {
            self.views = MemoryViews::default();
        } else {
            self.views.apply(&read_event(&request));
        }
        let reply = match self.views.hash() {
            Ok(hash) => json!({ "hash": hash }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        reply.to_string().into_bytes()
    }
}

fn read_event(request: &Value) -> Event {
    let seq = request["seq"].as_u64().unwrap_or_default();
    Event {
        seq,
        stream: Stream::Sys,
        version: seq,
        id: Uuid::from_u128(seq.into()).into(),
        at: seq * 1000,
        principal: format!("local:{}", seq % 3),
        actor: Actor::Cli,
        command: None,
        cause: None,
        kind: request["kind"].as_str().unwrap_or_default().to_owned(),
        body: request["body"].clone(),
        prev: Hash::ZERO,
        hash: Hash::ZERO,
    }
}
