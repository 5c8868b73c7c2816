//! Segment files: events that were moved out of the log's database.

use serde::{Deserialize, Serialize};

use crate::{Hash, LogCursor, Seq, UnixMicros};

/// A segment file. The log records it as an event, so that a file that is removed, exchanged or
/// changed later is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogSegment {
    /// Its first event.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub first: Seq,
    /// Its last event.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub last: Seq,
    /// The hash of the event before the first.
    pub prev: Hash,
    /// The hash of the last event.
    pub hash: Hash,
    /// The time of the first event.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub first_at: UnixMicros,
    /// The time of the last event.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub last_at: UnixMicros,
    /// The name of the file.
    pub file: String,
    /// The hash of the file.
    pub digest: Hash,
    /// The size of the file in bytes.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub bytes: u64,
}

impl LogSegment {
    /// The position of its last event: reading after it continues beyond this file.
    pub const fn end(&self) -> LogCursor {
        LogCursor::from_seq(self.last)
    }
}

/// A request to move older events into segment files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchiveLogRequest {
    /// Events before this time are moved, in whole blocks of 512.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub before: UnixMicros,
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchiveLogResult {
    /// The new segment files, the oldest first.
    pub segments: Vec<LogSegment>,
    /// How many events before the time stay in the database, because their block is not complete
    /// or not wholly before it.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub left: u64,
    /// How many bytes of the database hold something.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub log_bytes: u64,
}

/// All segment files of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogSegmentList {
    /// The files, the oldest first.
    pub segments: Vec<LogSegment>,
    /// How many events are in the database.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub log_events: u64,
    /// How many bytes of the database hold something.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub log_bytes: u64,
}
