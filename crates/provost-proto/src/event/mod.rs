//! The event envelope; [`Fact`] lists the kinds.
//!
//! Kinds are never renamed and bodies only gain optional fields, so that every later version
//! can read a log that was written today. A reader skips kinds that it does not know.

mod actor;
mod fact;
mod log_cursor;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use actor::Actor;
pub use fact::Fact;
pub use log_cursor::LogCursor;

use crate::{EventId, Hash, Stream};

/// Position of an event in the whole log, from 1 without gaps.
pub type Seq = u64;

/// Position of an event in its stream, from 1 without gaps.
pub type StreamVersion = u64;

/// Microseconds since 1970, by the daemon's clock.
pub type UnixMicros = u64;

/// On whose authority something was done: `local:<user>`, `token:<id>`, or
/// `session:<id>` for a model in a session.
pub type Principal = String;

/// A client's idempotency key: a command that is sent twice with the same key is executed once.
pub type IdempotencyKey = String;

/// One event of the log, as clients receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Position in the whole log.
    pub seq: Seq,
    /// The stream it belongs to.
    pub stream: Stream,
    /// Position in its stream.
    pub version: StreamVersion,
    /// Its id.
    pub id: EventId,
    /// The time by the daemon's clock; the only time that a fold may read.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: Principal,
    /// The component that acted.
    pub actor: Actor,
    /// The client's idempotency key, if it sent one.
    pub command: Option<IdempotencyKey>,
    /// The event that caused this one.
    pub cause: Option<EventId>,
    /// The kind, in `SCREAMING_SNAKE_CASE`.
    pub kind: EventKind,
    /// The body; a large one is replaced by a `{"$blob": …}` reference.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub body: Value,
    /// The hash of the previous event in the log.
    pub prev: Hash,
    /// BLAKE3 of `prev` and the canonical JSON of the other fields.
    pub hash: Hash,
}

/// The kind of an event as text: a newer daemon may know more kinds than we do.
pub type EventKind = String;

/// Replaces a body that is stored as a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BlobRef {
    /// The hash of the content.
    #[serde(rename = "$blob")]
    pub hash: Hash,
    /// Size in bytes.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub size: u64,
}

impl Event {
    /// The position of this event: reading after it continues with the next one.
    pub const fn cursor(&self) -> LogCursor {
        LogCursor::from_seq(self.seq)
    }

    /// The typed fact; `None` if this version does not know the kind, or the body is stored as a
    /// blob.
    pub fn fact(&self) -> Option<Fact> {
        Fact::from_kind_and_body(&self.kind, &self.body)
    }
}
