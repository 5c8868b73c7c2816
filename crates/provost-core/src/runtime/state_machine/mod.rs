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
//! There is at most one dev server and at most one build. A build on its own
//! may run beside the dev server; a run that needs one joins it. Time comes in
//! as an argument; what is to be done goes out as [`PromptQueueEffect`]s, in their order.

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

/// How long a process may take to end by itself.
pub const GRACE: Millis = 2000;

/// How long what was killed may take to be gone, before that is told as a failure.
pub const KILL_TIMEOUT: Millis = 1000;

/// The wait before the first restart after a crash; it doubles with each.
pub const BACKOFF: Millis = 500;

/// The longest wait before a restart.
pub const BACKOFF_MAX: Millis = 30_000;

/// Whoever ran this long was well: the next crash counts as the first.
pub const HEALTHY_UPTIME: Millis = 60_000;

/// This many crashes within [`HEALTHY`] are enough.
pub const MAX_CRASHES: usize = 5;

/// The runtime of a project. [`ProjectRuntime::default`] is one in which nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RuntimeStateMachine {
    dev: DevServerState,
    build: Option<BuildJob>,
}

/// The dev server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
enum DevServerState {
    #[default]
    Stopped,
    /// It crashed and does not come back by itself. This began it.
    Crashed(ActionId),
    /// It crashed and comes back.
    Backoff(DevServerRun),
    /// It waits for the build, which is there.
    Building(DevServerRun),
    /// Its process is there.
    Live { run: DevServerRun, process: ProcessTreeState },
    /// It is being ended, and so is a build that was told to.
    Stopping(StoppingState),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StoppingState {
    /// The action that began what is being ended.
    action: ActionId,
    cause: StopCause,
    /// What is left of the dev server.
    process: Option<ProcessTreeState>,
    /// How the dev server ended.
    exit: RuntimeExit,
    /// What is run when nothing is left.
    next: Option<DevServerRun>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct BuildJob {
    action: ActionId,
    process: ProcessTreeState,
}

/// Which of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeProcessKind {
    /// The build.
    Build,
    /// The dev server.
    Dev,
}

/// What happens to the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeInput {
    /// Someone asks to run.
    Run {
        /// The action that asks.
        action: ActionId,
        /// What is to be run.
        shape: DevServerOptions,
    },
    /// Someone asks to run anew.
    Restart {
        /// The action that asks.
        action: ActionId,
        /// What is to be run.
        shape: DevServerOptions,
    },
    /// Someone asks to build.
    Build {
        /// The action that asks.
        action: ActionId,
    },
    /// Someone asks to stop.
    Stop,
    /// The kernel ends, so everything does.
    Shutdown,
    /// A process runs.
    Spawned {
        /// Which.
        which: RuntimeProcessKind,
        /// Its id.
        pid: u32,
    },
    /// A process could not be started.
    SpawnFailed {
        /// Which.
        which: RuntimeProcessKind,
    },
    /// The first process of a tree has ended; others may be left.
    Exited {
        /// Which.
        which: RuntimeProcessKind,
        /// How.
        exit: RuntimeExit,
    },
    /// Nothing of a tree is left.
    TreeGone {
        /// Which.
        which: RuntimeProcessKind,
    },
    /// A timer is over.
    TimerExpired(RuntimeTimer),
}

/// What someone who asked may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AwaitedState {
    /// That it runs.
    Running,
    /// That the build has ended.
    Built,
    /// That nothing is left.
    Stopped,
}

/// What someone who asked is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeReply {
    /// It runs now.
    Started,
    /// It ran already.
    AlreadyRunning,
    /// It ended at once, and well.
    Exited,
    /// It did not come to run.
    Crashed(CrashPhase),
    /// The build succeeded.
    Built,
    /// The build did not succeed.
    BuildFailed(BuildFailureCause),
    /// Nothing is left.
    Stopped,
    /// Something is left though it was killed.
    StillAlive,
    /// It is being stopped, so this cannot be done now.
    Stopping,
}

/// A timer. Starting one that runs begins it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeTimer {
    /// A process was told to end.
    Grace(RuntimeProcessKind),
    /// A process was killed.
    Kill(RuntimeProcessKind),
    /// A dev server that crashed comes back.
    Backoff,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeEffect {
    /// Start a process; answer with [`RuntimeInput::Spawned`] or [`RuntimeInput::SpawnFailed`].
    Spawn {
        /// Which.
        which: RuntimeProcessKind,
        /// The action that began it.
        action: ActionId,
    },
    /// Tell the whole tree to end.
    Terminate(RuntimeProcessKind),
    /// Kill the whole tree, and say [`RuntimeInput::TreeGone`] when nothing is left.
    Kill(RuntimeProcessKind),
    /// Report a change.
    Report(RuntimeTransition),
    /// Say [`RuntimeInput::TimerExpired`] after so long.
    StartTimer(RuntimeTimer, Millis),
    /// Do not, after all.
    StopTimer(RuntimeTimer),
    /// Whoever asks with this input waits.
    Wait(AwaitedState),
    /// Whoever asks with this input is answered.
    Answer(RuntimeReply),
    /// All who wait are answered.
    AnswerAll(AwaitedState, RuntimeReply),
}

impl RuntimeStateMachine {
    /// What happens next.
    #[must_use = "the effects are to be done"]
    pub fn step(mut self, now: Millis, input: RuntimeInput) -> (Self, Vec<RuntimeEffect>) {
        let mut effects = Vec::new();
        self.apply_input(now, input, &mut effects);
        (self, effects)
    }

    /// As it is shown.
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

    /// Whether nothing of the project is alive or on its way.
    pub fn is_idle(&self) -> bool {
        self.build.is_none()
            && matches!(self.dev, DevServerState::Stopped | DevServerState::Crashed(_))
    }
}
