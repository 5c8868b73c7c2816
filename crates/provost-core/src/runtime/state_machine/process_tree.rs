//! One process tree and one run, as the state machine sees them.

use provost_proto::ActionId;
use provost_proto::runtime::RunCause;

use super::{
    BACKOFF, BACKOFF_MAX, GRACE, HEALTHY_UPTIME, KILL_TIMEOUT, MAX_CRASHES, RuntimeEffect,
    RuntimeProcessKind, RuntimeTimer,
};

/// Milliseconds of a clock that never goes back.
pub type Millis = u64;

/// How a process ended; neither if nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RuntimeExit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal, if that ended it.
    pub signal: Option<i32>,
}

/// What is to be run, as far as the state machine needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DevServerOptions {
    /// Whether it is built first.
    pub build: bool,
    /// Whether it is restarted after a crash.
    pub restart: bool,
}

/// One run of the dev server, with the restarts after its crashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DevServerRun {
    pub(super) action: ActionId,
    pub(super) shape: DevServerOptions,
    pub(super) cause: RunCause,
    pub(super) restarts: u32,
    /// When it crashed lately.
    pub(super) crashes: Vec<Millis>,
    /// How many crashes since it was well.
    pub(super) streak: u32,
}

impl DevServerRun {
    pub(super) fn new(action: ActionId, shape: DevServerOptions, cause: RunCause) -> Self {
        Self { action, shape, cause, restarts: 0, crashes: Vec::new(), streak: 0 }
    }

    /// It crashed, having run since then; how long to wait before it is run
    /// again, if it is.
    pub(super) fn record_crash(&mut self, since: Millis, now: Millis) -> Option<Millis> {
        if now.saturating_sub(since) >= HEALTHY_UPTIME {
            self.streak = 0;
        }
        self.crashes.retain(|at| now.saturating_sub(*at) < HEALTHY_UPTIME);
        self.crashes.push(now);
        if !self.shape.restart || self.crashes.len() >= MAX_CRASHES {
            return None;
        }
        let doubled = BACKOFF.saturating_mul(1 << self.streak.min(16));
        self.streak = self.streak.saturating_add(1).min(16);
        Some(doubled.min(BACKOFF_MAX))
    }

    /// The same run once more. What was built is built.
    pub(super) fn restarted(self) -> Self {
        Self {
            cause: RunCause::Crash,
            restarts: self.restarts.saturating_add(1),
            shape: DevServerOptions { build: false, ..self.shape },
            ..self
        }
    }
}

/// A process tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProcessTreeState {
    pub(super) child: ProcessPhase,
    pub(super) told: TerminationStage,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ProcessPhase {
    /// It was asked for.
    Spawning,
    /// It runs.
    Alive { pid: u32, since: Millis },
    /// It has ended; what it started is being killed.
    Sweeping { exit: RuntimeExit, since: Millis },
}

/// What a process was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TerminationStage {
    NotRequested,
    /// To end, as soon as it is there.
    Terminating,
    /// It is killed.
    Killed,
}

impl ProcessTreeState {
    pub(super) const SPAWNING: Self =
        Self { child: ProcessPhase::Spawning, told: TerminationStage::NotRequested };

    pub(super) fn mark_spawned(
        &mut self,
        which: RuntimeProcessKind,
        pid: u32,
        now: Millis,
        out: &mut Vec<RuntimeEffect>,
    ) {
        self.child = ProcessPhase::Alive { pid, since: now };
        if self.told != TerminationStage::NotRequested {
            self.told = TerminationStage::Terminating;
            out.push(RuntimeEffect::Terminate(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Grace(which), GRACE));
        }
    }

    /// Tells it to end, once.
    pub(super) fn terminate(&mut self, which: RuntimeProcessKind, out: &mut Vec<RuntimeEffect>) {
        if self.told != TerminationStage::NotRequested {
            return;
        }
        self.told = TerminationStage::Terminating;
        if let ProcessPhase::Alive { .. } = self.child {
            out.push(RuntimeEffect::Terminate(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Grace(which), GRACE));
        }
    }

    /// It has ended; nothing that it started may outlive it.
    pub(super) fn mark_exited(
        &mut self,
        which: RuntimeProcessKind,
        exit: RuntimeExit,
        out: &mut Vec<RuntimeEffect>,
    ) {
        let ProcessPhase::Alive { since, .. } = self.child else { return };
        if self.told == TerminationStage::Terminating {
            out.push(RuntimeEffect::StopTimer(RuntimeTimer::Grace(which)));
        }
        self.child = ProcessPhase::Sweeping { exit, since };
        out.push(RuntimeEffect::Kill(which));
        out.push(RuntimeEffect::StartTimer(RuntimeTimer::Kill(which), KILL_TIMEOUT));
    }

    pub(super) fn handle_grace_expired(
        &mut self,
        which: RuntimeProcessKind,
        out: &mut Vec<RuntimeEffect>,
    ) {
        if let (ProcessPhase::Alive { .. }, TerminationStage::Terminating) =
            (&self.child, self.told)
        {
            self.told = TerminationStage::Killed;
            out.push(RuntimeEffect::Kill(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Kill(which), KILL_TIMEOUT));
        }
    }

    /// Whether it should be gone by now, and is not: it is killed once more.
    pub(super) fn handle_kill_expired(
        &mut self,
        which: RuntimeProcessKind,
        out: &mut Vec<RuntimeEffect>,
    ) -> bool {
        let killed = self.told == TerminationStage::Killed
            || matches!(self.child, ProcessPhase::Sweeping { .. });
        if killed {
            out.push(RuntimeEffect::Kill(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Kill(which), KILL_TIMEOUT));
        }
        killed
    }

    /// How it ended, now that nothing is left, and since when it had run.
    pub(super) fn into_exit(
        self,
        which: RuntimeProcessKind,
        out: &mut Vec<RuntimeEffect>,
    ) -> (RuntimeExit, Millis) {
        match (self.child, self.told) {
            (ProcessPhase::Spawning, _) => (RuntimeExit::default(), 0),
            (ProcessPhase::Alive { since, .. }, told) => {
                match told {
                    TerminationStage::NotRequested => {}
                    TerminationStage::Terminating => {
                        out.push(RuntimeEffect::StopTimer(RuntimeTimer::Grace(which)))
                    }
                    TerminationStage::Killed => {
                        out.push(RuntimeEffect::StopTimer(RuntimeTimer::Kill(which)))
                    }
                }
                (RuntimeExit::default(), since)
            }
            (ProcessPhase::Sweeping { exit, since }, _) => {
                out.push(RuntimeEffect::StopTimer(RuntimeTimer::Kill(which)));
                (exit, since)
            }
        }
    }
}
