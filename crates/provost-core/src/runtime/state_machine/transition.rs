//! The changes that the state machine reports.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase, RunCause, StopCause};

use super::{Millis, RuntimeExit};

/// A change to report. The caller adds what only it knows: the command, the duration, the output.
/// Each names the action that started what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeTransition {
    /// A build was started.
    BuildStarted {
        /// The action that started it.
        action: ActionId,
        /// Its process id.
        pid: u32,
    },
    /// A build succeeded.
    BuildSucceeded {
        /// The action that started it.
        action: ActionId,
    },
    /// A build failed or was stopped.
    BuildFailed {
        /// The action that started it.
        action: ActionId,
        /// Why it did not succeed.
        end: BuildFailureCause,
        /// How its process ended.
        exit: RuntimeExit,
    },
    /// A run begins.
    Starting {
        /// The action that started it.
        action: ActionId,
        /// The cause.
        cause: RunCause,
        /// How many times it was restarted after a crash.
        restarts: u32,
    },
    /// The dev server was started, for the first time or again, as the cause says.
    Started {
        /// The action that started the run.
        action: ActionId,
        /// Its process id.
        pid: u32,
        /// The cause.
        cause: RunCause,
        /// How many times it was restarted after a crash.
        restarts: u32,
    },
    /// It is being stopped.
    Stopping {
        /// The action that started what is being stopped.
        action: ActionId,
        /// The cause.
        cause: StopCause,
    },
    /// It was stopped.
    Stopped {
        /// The action that started what was stopped.
        action: ActionId,
        /// The cause.
        cause: StopCause,
        /// How the dev server ended, if it ran.
        exit: RuntimeExit,
    },
    /// The run ended without a request, and no process of it is left.
    Crashed {
        /// The action that started the run.
        action: ActionId,
        /// The phase in which it crashed.
        phase: CrashPhase,
        /// How its process ended.
        exit: RuntimeExit,
        /// The delay before the restart, if there is one.
        restart_in: Option<Millis>,
    },
}
