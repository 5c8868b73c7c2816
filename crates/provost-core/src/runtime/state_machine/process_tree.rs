//! State of one process tree and of one run.

use provost_proto::ActionId;
use provost_proto::runtime::RunCause;

use super::{
    BACKOFF, BACKOFF_MAX, GRACE, HEALTHY_UPTIME, KILL_TIMEOUT, MAX_CRASHES, RuntimeEffect,
    RuntimeProcessKind, RuntimeTimer,
};

/// Milliseconds of a monotonic clock.
pub type Millis = u64;

/// How a process ended; both fields are `None` if that is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RuntimeExit {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// How to run the dev server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DevServerOptions {
    /// Whether a build comes first.
    pub build: bool,
    /// Whether it is restarted after a crash.
    pub restart: bool,
}

/// One run of the dev server, including restarts after crashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DevServerRun {
    pub(super) action: ActionId,
    pub(super) shape: DevServerOptions,
    pub(super) cause: RunCause,
    pub(super) restarts: u32,
    /// The times of recent crashes.
    pub(super) crashes: Vec<Millis>,
    /// Crashes since it last was healthy.
    pub(super) streak: u32,
}

impl DevServerRun {
    pub(super) fn new(action: ActionId, shape: DevServerOptions, cause: RunCause) -> Self {
        Self { action, shape, cause, restarts: 0, crashes: Vec::new(), streak: 0 }
    }

    /// Records a crash after a start at `since`; returns the delay before the restart, if there
    /// is one.
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

    /// The same run, restarted without a build.
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
    pub(super) termination: TerminationStage,
}

/// The phase of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ProcessPhase {
    /// It was requested.
    Spawning,
    /// It runs.
    Alive { pid: u32, since: Millis },
    /// It has ended; the rest of its tree is being killed.
    Sweeping { exit: RuntimeExit, since: Millis },
}

/// How far the termination has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TerminationStage {
    NotRequested,
    /// It is terminated as soon as it runs.
    Terminating,
    /// It was killed.
    Killed,
}

impl ProcessTreeState {
    pub(super) const SPAWNING: Self =
        Self { child: ProcessPhase::Spawning, termination: TerminationStage::NotRequested };

    pub(super) fn mark_spawned(
        &mut self,
        which: RuntimeProcessKind,
        pid: u32,
        now: Millis,
        out: &mut Vec<RuntimeEffect>,
    ) {
        self.child = ProcessPhase::Alive { pid, since: now };
        if self.termination != TerminationStage::NotRequested {
            self.termination = TerminationStage::Terminating;
            out.push(RuntimeEffect::Terminate(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Grace(which), GRACE));
        }
    }

    /// Terminates it, once.
    pub(super) fn terminate(&mut self, which: RuntimeProcessKind, out: &mut Vec<RuntimeEffect>) {
        if self.termination != TerminationStage::NotRequested {
            return;
        }
        self.termination = TerminationStage::Terminating;
        if let ProcessPhase::Alive { .. } = self.child {
            out.push(RuntimeEffect::Terminate(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Grace(which), GRACE));
        }
    }

    /// It has ended; the rest of its tree must not outlive it.
    pub(super) fn mark_exited(
        &mut self,
        which: RuntimeProcessKind,
        exit: RuntimeExit,
        out: &mut Vec<RuntimeEffect>,
    ) {
        let ProcessPhase::Alive { since, .. } = self.child else { return };
        if self.termination == TerminationStage::Terminating {
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
            (&self.child, self.termination)
        {
            self.termination = TerminationStage::Killed;
            out.push(RuntimeEffect::Kill(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Kill(which), KILL_TIMEOUT));
        }
    }

    /// If it is still there after the timeout, it is killed again.
    pub(super) fn handle_kill_expired(
        &mut self,
        which: RuntimeProcessKind,
        out: &mut Vec<RuntimeEffect>,
    ) -> bool {
        let killed = self.termination == TerminationStage::Killed
            || matches!(self.child, ProcessPhase::Sweeping { .. });
        if killed {
            out.push(RuntimeEffect::Kill(which));
            out.push(RuntimeEffect::StartTimer(RuntimeTimer::Kill(which), KILL_TIMEOUT));
        }
        killed
    }

    /// How it ended, now that nothing is left, and when it was started.
    pub(super) fn into_exit(
        self,
        which: RuntimeProcessKind,
        out: &mut Vec<RuntimeEffect>,
    ) -> (RuntimeExit, Millis) {
        match (self.child, self.termination) {
            (ProcessPhase::Spawning, _) => (RuntimeExit::default(), 0),
            (ProcessPhase::Alive { since, .. }, termination) => {
                match termination {
                    TerminationStage::NotRequested => {}
                    TerminationStage::Terminating => {
                        out.push(RuntimeEffect::StopTimer(RuntimeTimer::Grace(which)));
                    }
                    TerminationStage::Killed => {
                        out.push(RuntimeEffect::StopTimer(RuntimeTimer::Kill(which)));
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
