//! Requests to move older events into segment files.

use std::fmt;
use std::sync::Arc;

use provost_proto::{Actor, LogSegment, Principal, UnixMicros};

/// Which events to archive, and on whose authority.
#[derive(Debug, Clone)]
pub struct ArchiveRequest {
    /// On whose authority.
    pub principal: Principal,
    /// The component that acts.
    pub actor: Actor,
    /// Events before this time are archived, in whole blocks.
    pub before: UnixMicros,
    /// While the database holds more bytes than this, events are archived whatever their time,
    /// but for the newest ones.
    pub max_log_bytes: Option<u64>,
    /// Fewer events than this are left for the next time, so that there are not many small files.
    pub min_events: u64,
    /// Is told what was done.
    pub observer: ArchiveObserver,
}

impl ArchiveRequest {
    /// A request that archives nothing, and only completes what an earlier one began.
    pub fn none(principal: impl Into<Principal>, actor: Actor) -> Self {
        Self {
            principal: principal.into(),
            actor,
            before: 0,
            max_log_bytes: None,
            min_events: 0,
            observer: ArchiveObserver::default(),
        }
    }
}

/// A step of an archive. The process may end after any of them: the next archive continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArchiveStep {
    /// Files that no segment refers to were removed.
    CleanedUp,
    /// A block of a segment was written, under a temporary name.
    BlockWritten,
    /// The file is complete and on disk, under a temporary name.
    FileSynced,
    /// The file has its name.
    FilePublished,
    /// The log refers to the file, and its events are read from there.
    Recorded,
    /// Some rows were removed from the database.
    RowsRemoved,
}

/// Is called after each step, on the thread that archives.
#[derive(Clone, Default)]
pub struct ArchiveObserver(Option<Arc<dyn Fn(ArchiveStep) + Send + Sync>>);

impl ArchiveObserver {
    /// Calls a function.
    pub fn new(observe: impl Fn(ArchiveStep) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn notify(&self, step: ArchiveStep) {
        if let Some(observe) = &self.0 {
            observe(step);
        }
    }
}

impl fmt::Debug for ArchiveObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArchiveObserver")
    }
}

/// What was archived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveOutcome {
    /// The new segments, the oldest first.
    pub segments: Vec<LogSegment>,
    /// How many events before the time stay in the database, because their block is not complete
    /// or not wholly before it.
    pub left: u64,
}
