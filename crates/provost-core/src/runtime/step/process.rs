//! One process tree and one run, as the state machine sees them.

use provost_proto::ActionId;
use provost_proto::runtime::RunCause;

use super::{BACKOFF, BACKOFF_MAX, Effect, FAILURES, GRACE, HEALTHY, KILL, Timer, Which};

/// Milliseconds of a clock that never goes back.
pub type Millis = u64;

/// How a process ended; neither if nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Exit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal, if that ended it.
    pub signal: Option<i32>,
}

/// What is to be run, as far as the state machine needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Whether it is built first.
    pub build: bool,
    /// Whether it is restarted after a crash.
    pub restart: bool,
}

/// One run of the dev server, with the restarts after its crashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    pub(super) action: ActionId,
    pub(super) shape: Shape,
    pub(super) cause: RunCause,
    pub(super) restarts: u32,
    /// When it crashed lately.
    pub(super) crashes: Vec<Millis>,
    /// How many crashes since it was well.
    pub(super) streak: u32,
}

impl Run {
    pub(super) fn new(action: ActionId, shape: Shape, cause: RunCause) -> Self {
        Self { action, shape, cause, restarts: 0, crashes: Vec::new(), streak: 0 }
    }

    /// It crashed, having run since then; how long to wait before it is run
    /// again, if it is.
    pub(super) fn crashed(&mut self, since: Millis, now: Millis) -> Option<Millis> {
        if now.saturating_sub(since) >= HEALTHY {
            self.streak = 0;
        }
        self.crashes.retain(|at| now.saturating_sub(*at) < HEALTHY);
        self.crashes.push(now);
        if !self.shape.restart || self.crashes.len() >= FAILURES {
            return None;
        }
        let doubled = BACKOFF.saturating_mul(1 << self.streak.min(16));
        self.streak = self.streak.saturating_add(1).min(16);
        Some(doubled.min(BACKOFF_MAX))
    }

    /// The same run once more. What was built is built.
    pub(super) fn again(self) -> Self {
        Self {
            cause: RunCause::Crash,
            restarts: self.restarts.saturating_add(1),
            shape: Shape { build: false, ..self.shape },
            ..self
        }
    }
}

/// A process tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) told: Told,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Child {
    /// It was asked for.
    Spawning,
    /// It runs.
    Alive { pid: u32, since: Millis },
    /// It has ended; what it started is being killed.
    Sweeping { exit: Exit, since: Millis },
}

/// What a process was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Told {
    Nothing,
    /// To end, as soon as it is there.
    End,
    /// It is killed.
    Die,
}

impl Process {
    pub(super) const SPAWNING: Self = Self { child: Child::Spawning, told: Told::Nothing };

    pub(super) fn spawned(&mut self, which: Which, pid: u32, now: Millis, out: &mut Vec<Effect>) {
        self.child = Child::Alive { pid, since: now };
        if self.told != Told::Nothing {
            self.told = Told::End;
            out.push(Effect::Terminate(which));
            out.push(Effect::StartTimer(Timer::Grace(which), GRACE));
        }
    }

    /// Tells it to end, once.
    pub(super) fn end(&mut self, which: Which, out: &mut Vec<Effect>) {
        if self.told != Told::Nothing {
            return;
        }
        self.told = Told::End;
        if let Child::Alive { .. } = self.child {
            out.push(Effect::Terminate(which));
            out.push(Effect::StartTimer(Timer::Grace(which), GRACE));
        }
    }

    /// It has ended; nothing that it started may outlive it.
    pub(super) fn exited(&mut self, which: Which, exit: Exit, out: &mut Vec<Effect>) {
        let Child::Alive { since, .. } = self.child else { return };
        if self.told == Told::End {
            out.push(Effect::StopTimer(Timer::Grace(which)));
        }
        self.child = Child::Sweeping { exit, since };
        out.push(Effect::Kill(which));
        out.push(Effect::StartTimer(Timer::Kill(which), KILL));
    }

    pub(super) fn grace_over(&mut self, which: Which, out: &mut Vec<Effect>) {
        if let (Child::Alive { .. }, Told::End) = (&self.child, self.told) {
            self.told = Told::Die;
            out.push(Effect::Kill(which));
            out.push(Effect::StartTimer(Timer::Kill(which), KILL));
        }
    }

    /// Whether it should be gone by now, and is not: it is killed once more.
    pub(super) fn kill_over(&mut self, which: Which, out: &mut Vec<Effect>) -> bool {
        let killed = self.told == Told::Die || matches!(self.child, Child::Sweeping { .. });
        if killed {
            out.push(Effect::Kill(which));
            out.push(Effect::StartTimer(Timer::Kill(which), KILL));
        }
        killed
    }

    /// How it ended, now that nothing is left, and since when it had run.
    pub(super) fn gone(self, which: Which, out: &mut Vec<Effect>) -> (Exit, Millis) {
        match (self.child, self.told) {
            (Child::Spawning, _) => (Exit::default(), 0),
            (Child::Alive { since, .. }, told) => {
                match told {
                    Told::Nothing => {}
                    Told::End => out.push(Effect::StopTimer(Timer::Grace(which))),
                    Told::Die => out.push(Effect::StopTimer(Timer::Kill(which))),
                }
                (Exit::default(), since)
            }
            (Child::Sweeping { exit, since }, _) => {
                out.push(Effect::StopTimer(Timer::Kill(which)));
                (exit, since)
            }
        }
    }
}
