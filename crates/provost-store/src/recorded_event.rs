//! An event as stored: the bytes that were hashed.

use std::sync::OnceLock;

use bytes::Bytes;
use provost_core::hash_chain::{self, EventRecord};
use provost_proto::{BlobRef, Event, Fact, Hash, LogCursor, ProjectId, Seq, Stream};

use crate::{EventScope, EventStore, StoreError};

/// One event that is not decoded yet.
///
/// Most events are sent to clients without being inspected, so the record stays bytes until it is
/// needed.
#[derive(Debug)]
pub struct RecordedEvent {
    /// Position in the whole log.
    pub seq: Seq,
    /// The stream it belongs to.
    pub stream: Stream,
    /// The hash of the previous event.
    pub prev: Hash,
    /// Its own hash.
    pub hash: Hash,
    record: Vec<u8>,
    wire: OnceLock<Bytes>,
    /// The project that it names, if it was appended by this process.
    named_project: Option<ProjectId>,
}

impl RecordedEvent {
    pub(crate) fn new(seq: Seq, stream: Stream, prev: Hash, hash: Hash, record: Vec<u8>) -> Self {
        Self { seq, stream, prev, hash, record, wire: OnceLock::new(), named_project: None }
    }

    /// The same, with the project that it names.
    pub(crate) fn with_named_project(self, named_project: Option<ProjectId>) -> Self {
        Self { named_project, ..self }
    }

    /// Whether a new event is part of a scope.
    pub(crate) fn is_in(&self, scope: EventScope) -> bool {
        scope.stream().is_none_or(|stream| self.stream == stream)
            || (scope.project().is_some() && self.named_project == scope.project())
    }

    /// The position of this event: reading after it continues with the next one.
    pub const fn cursor(&self) -> LogCursor {
        LogCursor::from_seq(self.seq)
    }

    /// The position right before this event.
    pub const fn cursor_before(&self) -> LogCursor {
        LogCursor::from_seq(self.seq.saturating_sub(1))
    }

    /// The bytes that were hashed.
    pub fn record_bytes(&self) -> &[u8] {
        &self.record
    }

    /// The JSON for clients; encoded once, however many clients there are.
    pub fn wire_json(&self) -> Bytes {
        self.wire
            .get_or_init(|| hash_chain::encode_event(&self.record, &self.prev, &self.hash).into())
            .clone()
    }

    /// Decodes the event.
    pub fn decode_event(&self) -> Result<Event, StoreError> {
        let record = EventRecord::parse(&self.record)
            .map_err(|error| StoreError::Damaged(format!("event {}: {error}", self.seq)))?;
        Ok(record.into_event(self.prev, self.hash))
    }
}

/// The fact of an event, with its body loaded if that is stored as a blob; `None` for an unknown
/// kind.
pub async fn hydrate_fact(
    store: &dyn EventStore,
    event: &Event,
) -> Result<Option<Fact>, StoreError> {
    if let Some(fact) = event.fact() {
        return Ok(Some(fact));
    }
    let Ok(kept) = serde_json::from_value::<BlobRef>(event.body.clone()) else { return Ok(None) };
    let bytes = store.get_blob(kept.hash).await?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes)
        .ok()
        .and_then(|body| Fact::from_kind_and_body(&event.kind, &body)))
}
