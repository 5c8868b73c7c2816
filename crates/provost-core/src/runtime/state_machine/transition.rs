//! What the state machine has to report.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase, RunCause, StopCause};

use super::{Millis, RuntimeExit};

/// A change to report; the actor adds what only it knows: the command, how long
/// it took, what was printed. Each names the action that began what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeTransition {
    /// A build runs.
    BuildStarted {
        /// The action that began it.
        action: ActionId,
        /// Its process id.
        pid: u32,
    },
    /// A build succeeded.
    BuildSucceeded {
        /// The action that began it.
        action: ActionId,
    },
    /// A build did not succeed.
    BuildFailed {
        /// The action that began it.
        action: ActionId,
        /// How.
        end: BuildFailureCause,
        /// How its process ended.
        exit: RuntimeExit,
    },
    /// A run began.
    Starting {
        /// The action that began it.
        action: ActionId,
        /// Why.
        cause: RunCause,
        /// How many times it has been restarted after a crash.
        restarts: u32,
    },
    /// The dev server runs: for the first time, or again if the cause says so.
    Started {
        /// The action that began the run.
        action: ActionId,
        /// Its process id.
        pid: u32,
        /// Why.
        cause: RunCause,
        /// How many times it has been restarted after a crash.
        restarts: u32,
    },
    /// It was told to end.
    Stopping {
        /// The action that began what is being ended.
        action: ActionId,
        /// Why.
        cause: StopCause,
    },
    /// Nothing is left.
    Stopped {
        /// The action that began what has ended.
        action: ActionId,
        /// Why.
        cause: StopCause,
        /// How the dev server ended, if it was there.
        exit: RuntimeExit,
    },
    /// The run ended though nobody asked, and nothing of it is left.
    Crashed {
        /// The action that began the run.
        action: ActionId,
        /// How far it had come.
        phase: CrashPhase,
        /// How its process ended.
        exit: RuntimeExit,
        /// After how long it is run again, if it is.
        restart_in: Option<Millis>,
    },
}
