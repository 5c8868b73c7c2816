//! Requests to append, and their results.

use std::sync::Arc;

use bytes::Bytes;
use provost_core::fold::{DocumentKey, ViewDocument};
use provost_core::hash_chain;
use provost_proto::kernel::OutputData;
use provost_proto::{
    Actor, BlobRef, EventId, Fact, Hash, Principal, Stream, StreamVersion, limits,
};

use crate::{RecordedEvent, StoreError};

/// How durable an append must be before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of any process, not a power failure.
    Buffered,
    /// Survives a power failure: it is on disk.
    Synced,
}

/// An event to append.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The stream it belongs to.
    pub stream: Stream,
    /// The fact.
    pub fact: Fact,
    /// The event that caused it.
    pub cause: Option<EventId>,
}

/// Makes a request that is sent twice take effect once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The client's key.
    pub key: String,
    /// The hash of the request, to detect a key that is used for two requests.
    pub request: Hash,
}

/// Events that are appended together or not at all.
#[derive(Debug, Clone)]
pub struct AppendRequest {
    /// On whose authority.
    pub principal: Principal,
    /// The component that acts.
    pub actor: Actor,
    /// The client's idempotency key, if it sent one.
    pub command: Option<Idempotency>,
    /// The versions that these streams must have, or nothing is appended.
    pub expect: Vec<(Stream, StreamVersion)>,
    /// Documents that must be unchanged, or nothing is appended: a decision that was based on
    /// them must not be applied to others.
    pub unchanged: Vec<(DocumentKey, ViewDocument)>,
    /// How durable the append must be.
    pub durability: Durability,
    /// The events.
    pub events: Vec<NewEvent>,
}

impl AppendRequest {
    /// One synced event without conditions.
    pub fn single_event(
        principal: impl Into<Principal>,
        actor: Actor,
        stream: Stream,
        fact: Fact,
    ) -> Self {
        Self {
            principal: principal.into(),
            actor,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Synced,
            events: vec![NewEvent { stream, fact, cause: None }],
        }
    }
}

/// The result of an append.
#[derive(Debug, Clone)]
pub enum AppendOutcome {
    /// The events are new in the log.
    Appended(Vec<Arc<RecordedEvent>>),
    /// The command was executed before; these are its events.
    Replayed(Vec<Arc<RecordedEvent>>),
}

impl AppendOutcome {
    /// The events, new or not.
    pub fn events(&self) -> &[Arc<RecordedEvent>] {
        match self {
            Self::Appended(events) | Self::Replayed(events) => events,
        }
    }
}

/// An event with canonical body of bounded size. It is prepared on the caller's thread to relieve
/// the single writer.
#[derive(Debug)]
pub(crate) struct PreparedEvent {
    pub(crate) stream: Stream,
    pub(crate) fact: Fact,
    pub(crate) cause: Option<EventId>,
    pub(crate) body: Vec<u8>,
    pub(crate) blob: Option<(Hash, Bytes)>,
}

impl PreparedEvent {
    pub(crate) fn new(event: NewEvent) -> Result<Self, StoreError> {
        let NewEvent { stream, mut fact, cause } = event;
        // Large output is not encoded as JSON at all.
        let mut blob = move_output_to_blob(&mut fact, limits::MAX_INLINE_BODY_BYTES)?;
        let (mut fact, mut body) = hash_chain::encode_stored_fact(fact)?;
        if body.len() > limits::MAX_INLINE_BODY_BYTES {
            blob = move_output_to_blob(&mut fact, 0)?;
            if blob.is_some() {
                (fact, body) = hash_chain::encode_stored_fact(fact)?;
            }
        }
        if body.len() > limits::MAX_INLINE_BODY_BYTES {
            check_blob_size(&body)?;
            let hash = hash_chain::digest(&body);
            let reference = format!("{{\"$blob\":\"{hash}\",\"size\":{}}}", body.len());
            let bytes = std::mem::replace(&mut body, reference.into_bytes());
            blob = Some((hash, bytes.into()));
        }
        Ok(Self { stream, fact, cause, body, blob })
    }
}

/// Replaces output of more than `over` bytes by a reference to a blob, so that it is stored as
/// printed, without JSON encoding.
fn move_output_to_blob(fact: &mut Fact, over: usize) -> Result<Option<(Hash, Bytes)>, StoreError> {
    if let Fact::ActionOutput { output, .. } = fact
        && let OutputData::Bytes(bytes) = &output.data
        && bytes.len() > over
    {
        check_blob_size(bytes)?;
        let (hash, bytes) = (hash_chain::digest(bytes), bytes.clone());
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        output.data = OutputData::Blob(BlobRef { hash, size });
        return Ok(Some((hash, bytes)));
    }
    Ok(None)
}

/// Checks the size limit of blobs.
pub(crate) fn check_blob_size(bytes: &[u8]) -> Result<(), StoreError> {
    let (size, limit) = (bytes.len(), limits::MAX_BLOB_BYTES);
    if size > limit { Err(StoreError::TooLarge { size, limit }) } else { Ok(()) }
}
