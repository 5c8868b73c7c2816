//! The state machine of a project's runtime.
//!
//! ```text
//!             ┌───────────── Run ──────────────┐
//!             ▼                                │
//! Stopped ─ Run ─► Building? ─► Live(starting ─► running) ─ exit 0 ─► Stopped
//!    ▲                │              │      │
//!    │                └── crash ─────┴──────┴─► Crashed, or Backoff ─► Live
//!    └─ nothing left ─ Stopping ◄─ Stop, Restart ─ from any of them
//! ```
//!
//! There is at most one dev server and at most one build. A build on its own may run beside the
//! dev server; a run that needs one joins it. Time is an argument; what is to be done is returned
//! as ordered [`RuntimeEffect`]s.

mod apply_input;
mod build_job;
mod process_tree;
#[cfg(test)]
mod tests;
mod transition;

use provost_proto::ActionId;
use provost_proto::runtime::{
    BuildFailureCause, BuildStatus, CrashPhase, RuntimeStatus, RuntimeView, StopCause,
};

pub use process_tree::{DevServerOptions, DevServerRun, Millis, RuntimeExit};
pub use transition::RuntimeTransition;

use process_tree::{ProcessPhase, ProcessTreeState};

/// The grace period before a process is killed.
pub const GRACE: Millis = 2000;

/// How long a killed process tree may take to disappear before that is reported as an error.
pub const KILL_TIMEOUT: Millis = 1000;

/// The delay before the first restart after a crash; it doubles with each one.
pub const BACKOFF: Millis = 500;

/// The longest delay before a restart.
pub const BACKOFF_MAX: Millis = 30_000;

/// After this uptime, the next crash counts as the first.
pub const HEALTHY_UPTIME: Millis = 60_000;

/// After this many crashes within [`HEALTHY_UPTIME`], it is not restarted.
pub const MAX_CRASHES: usize = 5;

/// The runtime of a project. By default, nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RuntimeStateMachine {
    dev: DevServerState,
    build: Option<BuildJob>,
}

/// The state of the dev server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
enum DevServerState {
    #[default]
    Stopped,
    /// It crashed and is not restarted. Holds the action that started it.
    Crashed(ActionId),
    /// It crashed and will be restarted.
    Backoff(DevServerRun),
    /// It waits for the running build.
    Building(DevServerRun),
    /// Its process exists.
    Live { run: DevServerRun, process: ProcessTreeState },
    /// It is being stopped, and so is a build that was stopped too.
    Stopping(StoppingState),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StoppingState {
    /// The action that started what is being stopped.
    action: ActionId,
    cause: StopCause,
    /// The rest of the dev server's process tree.
    process: Option<ProcessTreeState>,
    /// How the dev server ended.
    exit: RuntimeExit,
    /// What to run when nothing is left.
    next: Option<DevServerRun>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct BuildJob {
    action: ActionId,
    process: ProcessTreeState,
}

/// One of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeProcessKind {
    /// The build.
    Build,
    /// The dev server.
    Dev,
}

/// An input of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeInput {
    /// A request to run.
    Run {
        /// The requesting action.
        action: ActionId,
        /// How to run it.
        shape: DevServerOptions,
    },
    /// A request to restart.
    Restart {
        /// The requesting action.
        action: ActionId,
        /// How to run it.
        shape: DevServerOptions,
    },
    /// A request to build.
    Build {
        /// The requesting action.
        action: ActionId,
    },
    /// A request to stop.
    Stop,
    /// The kernel shuts down.
    Shutdown,
    /// A process was started.
    Spawned {
        /// The process.
        which: RuntimeProcessKind,
        /// Its process id.
        pid: u32,
    },
    /// A process could not be started.
    SpawnFailed {
        /// The process.
        which: RuntimeProcessKind,
    },
    /// The first process of a tree has ended; others may be left.
    Exited {
        /// The process.
        which: RuntimeProcessKind,
        /// How it ended.
        exit: RuntimeExit,
    },
    /// No process of a tree is left.
    TreeGone {
        /// The process.
        which: RuntimeProcessKind,
    },
    /// A timer has expired.
    TimerExpired(RuntimeTimer),
}

/// What a requester may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AwaitedState {
    /// The dev server runs.
    Running,
    /// The build has ended.
    Built,
    /// Nothing is left.
    Stopped,
}

/// The answer to a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeReply {
    /// It was started.
    Started,
    /// It ran already.
    AlreadyRunning,
    /// It ended immediately with success.
    Exited,
    /// It crashed before it ran.
    Crashed(CrashPhase),
    /// The build succeeded.
    Built,
    /// The build failed or was stopped.
    BuildFailed(BuildFailureCause),
    /// Nothing is left.
    Stopped,
    /// A process is left although it was killed.
    StillAlive,
    /// It is being stopped, so the request is refused.
    Stopping,
}

/// A timer. Starting a running one restarts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeTimer {
    /// A process was told to terminate.
    Grace(RuntimeProcessKind),
    /// A process was killed.
    Kill(RuntimeProcessKind),
    /// A crashed dev server will be restarted.
    Backoff,
}

/// An effect that the caller has to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeEffect {
    /// Start a process; answer with [`RuntimeInput::Spawned`] or [`RuntimeInput::SpawnFailed`].
    Spawn {
        /// The process.
        which: RuntimeProcessKind,
        /// The action that started it.
        action: ActionId,
    },
    /// Terminate the whole tree.
    Terminate(RuntimeProcessKind),
    /// Kill the whole tree, and send [`RuntimeInput::TreeGone`] when nothing is left.
    Kill(RuntimeProcessKind),
    /// Report a change.
    Report(RuntimeTransition),
    /// Send [`RuntimeInput::TimerExpired`] after this time.
    StartTimer(RuntimeTimer, Millis),
    /// Cancel the timer.
    StopTimer(RuntimeTimer),
    /// The requester of this input waits.
    Wait(AwaitedState),
    /// The requester of this input is answered.
    Answer(RuntimeReply),
    /// All who wait for this are answered.
    AnswerAll(AwaitedState, RuntimeReply),
}

impl RuntimeStateMachine {
    /// Applies an input.
    #[must_use = "the effects are to be done"]
    pub fn step(mut self, now: Millis, input: RuntimeInput) -> (Self, Vec<RuntimeEffect>) {
        let mut effects = Vec::new();
        self.apply_input(now, input, &mut effects);
        (self, effects)
    }

    /// The status for display.
    pub fn status(&self) -> RuntimeStatus {
        let build = match &self.build {
            Some(job) if job.process.child != ProcessPhase::Spawning => BuildStatus::Running,
            Some(_) | None => BuildStatus::None,
        };
        let dev = match &self.dev {
            DevServerState::Stopped => RuntimeStatus::Stopped,
            DevServerState::Crashed(_) | DevServerState::Backoff(_) => RuntimeStatus::Crashed,
            DevServerState::Building(_) => RuntimeStatus::Starting,
            DevServerState::Live { process, .. } => match process.child {
                ProcessPhase::Spawning => RuntimeStatus::Starting,
                ProcessPhase::Alive { .. } | ProcessPhase::Sweeping { .. } => {
                    RuntimeStatus::Running
                }
            },
            DevServerState::Stopping(_) => RuntimeStatus::Stopping,
        };
        RuntimeView::combined_status(dev, build)
    }

    /// Whether no process of the project runs or is about to.
    pub fn is_idle(&self) -> bool {
        self.build.is_none()
            && matches!(self.dev, DevServerState::Stopped | DevServerState::Crashed(_))
    }
}
