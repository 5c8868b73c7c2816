//! What is appended, and what comes back.

use std::sync::Arc;

use bytes::Bytes;
use provost_core::fold::{DocumentKey, ViewDocument};
use provost_core::hash_chain;
use provost_proto::kernel::OutputData;
use provost_proto::{
    Actor, BlobRef, EventId, Fact, Hash, Principal, Stream, StreamVersion, limits,
};

use crate::{RecordedEvent, StoreError};

/// How sure an append must be before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of any process, not a power failure.
    Buffered,
    /// Survives a power failure: it is on the disk.
    Synced,
}

/// One event to be.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Whose it is.
    pub stream: Stream,
    /// What happened.
    pub fact: Fact,
    /// What led to it.
    pub cause: Option<EventId>,
}

/// The same request sent twice happens once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The client's key.
    pub key: String,
    /// The hash of the request, so that a key used for two requests is noticed.
    pub request: Hash,
}

/// Events that belong together: all are appended, or none.
#[derive(Debug, Clone)]
pub struct AppendRequest {
    /// On whose authority.
    pub principal: Principal,
    /// What acts.
    pub actor: Actor,
    /// The client's key, if it gave one.
    pub command: Option<Idempotency>,
    /// Where these streams must be, or nothing is appended.
    pub expect: Vec<(Stream, StreamVersion)>,
    /// What these documents must be, still, or nothing is appended: a decision
    /// that was made by looking at them is not carried out on others.
    pub unchanged: Vec<(DocumentKey, ViewDocument)>,
    /// How sure it must be.
    pub durability: Durability,
    /// The events.
    pub events: Vec<NewEvent>,
}

impl AppendRequest {
    /// One event, durable, with no conditions.
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

/// What an append came to.
#[derive(Debug, Clone)]
pub enum AppendOutcome {
    /// The events are new in the log.
    Appended(Vec<Arc<RecordedEvent>>),
    /// The command had been carried out before; these are its events.
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

/// An event whose body is canonical and small; made on the caller's thread, so
/// that the one writer has less to do.
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
        // Much output is not even tried as JSON.
        let mut blob = move_output_to_blob(&mut fact, limits::MAX_INLINE_BODY_BYTES)?;
        let mut body = hash_chain::encode_fact_body(&fact)?;
        if body.len() > limits::MAX_INLINE_BODY_BYTES {
            blob = move_output_to_blob(&mut fact, 0)?;
            body = if blob.is_some() { hash_chain::encode_fact_body(&fact)? } else { body };
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

/// Takes output of more than `over` bytes out of its fact and puts a reference
/// in its place, so that it is kept as it was printed and never becomes JSON.
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

/// Whether these bytes may be a blob.
pub(crate) fn check_blob_size(bytes: &[u8]) -> Result<(), StoreError> {
    let (size, limit) = (bytes.len(), limits::MAX_BLOB_BYTES);
    if size > limit { Err(StoreError::TooLarge { size, limit }) } else { Ok(()) }
}
