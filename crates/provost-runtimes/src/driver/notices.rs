//! What a driver tells the person at it.

use provost_proto::RuntimeSessionId;
use provost_proto::notebook::ExecutionOutcome;

/// What happened to a runtime, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeNotice {
    /// Its session is active.
    Active {
        /// The session.
        session: RuntimeSessionId,
        /// The slot.
        slot: String,
    },
    /// Its session is active and its handler is ready: it executes cells.
    Ready,
    /// It has no connection, and tries again.
    Disconnected {
        /// Why.
        why: String,
    },
    /// It is connected again.
    Reconnected,
    /// It executes a cell.
    Executing {
        /// The number of the execution.
        count: u32,
        /// The first line of the source.
        line: String,
    },
    /// A cell has ended.
    Finished {
        /// The number of the execution.
        count: u32,
        /// The outcome.
        outcome: ExecutionOutcome,
        /// Why it failed.
        why: Option<String>,
    },
}
