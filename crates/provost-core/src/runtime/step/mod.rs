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
//! as an argument; what is to be done goes out as [`Effect`]s, in their order.

mod apply;
mod building;
mod process;
mod said;
#[cfg(test)]
mod tests;

use provost_proto::ActionId;
use provost_proto::runtime::{
    BuildFailureCause, BuildStatus, CrashPhase, RuntimeStatus, RuntimeView, StopCause,
};

pub use process::{Exit, Millis, Run, Shape};
pub use said::Said;

use process::{Child, Process};

/// How long a process may take to end by itself.
pub const GRACE: Millis = 2000;

/// How long what was killed may take to be gone, before that is told as a failure.
pub const KILL: Millis = 1000;

/// The wait before the first restart after a crash; it doubles with each.
pub const BACKOFF: Millis = 500;

/// The longest wait before a restart.
pub const BACKOFF_MAX: Millis = 30_000;

/// Whoever ran this long was well: the next crash counts as the first.
pub const HEALTHY: Millis = 60_000;

/// This many crashes within [`HEALTHY`] are enough.
pub const FAILURES: usize = 5;

/// The runtime of a project. [`Runtime::default`] is one in which nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Runtime {
    dev: Dev,
    build: Option<Job>,
}

/// The dev server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
enum Dev {
    #[default]
    Stopped,
    /// It crashed and does not come back by itself. This began it.
    Crashed(ActionId),
    /// It crashed and comes back.
    Backoff(Run),
    /// It waits for the build, which is there.
    Building(Run),
    /// Its process is there.
    Live { run: Run, process: Process },
    /// It is being ended, and so is a build that was told to.
    Stopping(Stopping),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stopping {
    /// The action that began what is being ended.
    action: ActionId,
    cause: StopCause,
    /// What is left of the dev server.
    process: Option<Process>,
    /// How the dev server ended.
    exit: Exit,
    /// What is run when nothing is left.
    next: Option<Run>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Job {
    action: ActionId,
    process: Process,
}

/// Which of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The build.
    Build,
    /// The dev server.
    Dev,
}

/// What happens to the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Someone asks to run.
    Run {
        /// The action that asks.
        action: ActionId,
        /// What is to be run.
        shape: Shape,
    },
    /// Someone asks to run anew.
    Restart {
        /// The action that asks.
        action: ActionId,
        /// What is to be run.
        shape: Shape,
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
        which: Which,
        /// Its id.
        pid: u32,
    },
    /// A process could not be started.
    SpawnFailed {
        /// Which.
        which: Which,
    },
    /// The first process of a tree has ended; others may be left.
    Exited {
        /// Which.
        which: Which,
        /// How.
        exit: Exit,
    },
    /// Nothing of a tree is left.
    Gone {
        /// Which.
        which: Which,
    },
    /// A timer is over.
    Over(Timer),
}

/// What someone who asked may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Line {
    /// That it runs.
    Runs,
    /// That the build has ended.
    Builds,
    /// That nothing is left.
    Stops,
}

/// What someone who asked is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// It runs now.
    Started,
    /// It ran already.
    Already,
    /// It ended at once, and well.
    Ended,
    /// It did not come to run.
    Crashed(CrashPhase),
    /// The build succeeded.
    Built,
    /// The build did not succeed.
    NotBuilt(BuildFailureCause),
    /// Nothing is left.
    Stopped,
    /// Something is left though it was killed.
    StillAlive,
    /// It is being stopped, so this cannot be done now.
    Stopping,
}

/// A timer. Starting one that runs begins it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// A process was told to end.
    Grace(Which),
    /// A process was killed.
    Kill(Which),
    /// A dev server that crashed comes back.
    Backoff,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Start a process; answer with [`Input::Spawned`] or [`Input::SpawnFailed`].
    Spawn {
        /// Which.
        which: Which,
        /// The action that began it.
        action: ActionId,
    },
    /// Tell the whole tree to end.
    Terminate(Which),
    /// Kill the whole tree, and say [`Input::Gone`] when nothing is left.
    Kill(Which),
    /// Report a change.
    Report(Said),
    /// Say [`Input::Over`] after so long.
    StartTimer(Timer, Millis),
    /// Do not, after all.
    StopTimer(Timer),
    /// Whoever asks with this input waits.
    Wait(Line),
    /// Whoever asks with this input is answered.
    Answer(Reply),
    /// All who wait are answered.
    AnswerAll(Line, Reply),
}

impl Runtime {
    /// What happens next.
    #[must_use = "the effects are to be done"]
    pub fn step(mut self, now: Millis, input: Input) -> (Self, Vec<Effect>) {
        let mut effects = Vec::new();
        self.apply(now, input, &mut effects);
        (self, effects)
    }

    /// As it is shown.
    pub fn status(&self) -> RuntimeStatus {
        let build = match &self.build {
            Some(job) if job.process.child != Child::Spawning => BuildStatus::Running,
            Some(_) | None => BuildStatus::None,
        };
        let dev = match &self.dev {
            Dev::Stopped => RuntimeStatus::Stopped,
            Dev::Crashed(_) | Dev::Backoff(_) => RuntimeStatus::Crashed,
            Dev::Building(_) => RuntimeStatus::Starting,
            Dev::Live { process, .. } => match process.child {
                Child::Spawning => RuntimeStatus::Starting,
                Child::Alive { .. } | Child::Sweeping { .. } => RuntimeStatus::Running,
            },
            Dev::Stopping(_) => RuntimeStatus::Stopping,
        };
        RuntimeView::combined_status(dev, build)
    }

    /// Whether nothing of the project is alive or on its way.
    pub fn is_idle(&self) -> bool {
        self.build.is_none() && matches!(self.dev, Dev::Stopped | Dev::Crashed(_))
    }
}
