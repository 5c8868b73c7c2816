//! What each input does.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase, RunCause, StopCause};

use super::process::{Child, Process, Told};
use super::{
    Dev, Effect, Exit, Input, Line, Millis, Reply, Run, Runtime, Said, Stopping, Timer, Which,
};

pub(super) type Out = Vec<Effect>;

impl Runtime {
    pub(super) fn apply(&mut self, now: Millis, input: Input, out: &mut Out) {
        match input {
            Input::Run { action, shape } => {
                self.run(Run::new(action, shape, RunCause::Run), out);
            }
            Input::Restart { action, shape } => {
                self.run(Run::new(action, shape, RunCause::Restart), out);
            }
            Input::Build { action } => self.build(action, out),
            Input::Stop => self.stop(StopCause::Stop, out),
            Input::Shutdown => self.stop(StopCause::Shutdown, out),
            Input::Spawned { which, pid } => self.spawned(which, pid, now, out),
            Input::SpawnFailed { which: Which::Build } => {
                self.build_ended(Some(BuildFailureCause::NotStarted), out);
            }
            Input::SpawnFailed { which: Which::Dev } => self.not_spawned(out),
            Input::Exited { which, exit } => {
                if let Some(process) = self.process(which) {
                    process.exited(which, exit, out);
                }
            }
            Input::Gone { which } => {
                let spawning = |process: &mut Process| process.child == Child::Spawning;
                match (self.process(which).map(spawning), which) {
                    // What has not come cannot have gone.
                    (Some(true) | None, _) => {}
                    (Some(false), Which::Build) => self.build_ended(None, out),
                    (Some(false), Which::Dev) => self.dev_gone(now, out),
                }
            }
            Input::Over(Timer::Backoff) => {
                self.dev = match std::mem::take(&mut self.dev) {
                    Dev::Backoff(run) => return self.begin(run.again(), out),
                    other @ (Dev::Stopped
                    | Dev::Crashed(_)
                    | Dev::Building(_)
                    | Dev::Live { .. }
                    | Dev::Stopping(_)) => other,
                };
            }
            Input::Over(Timer::Grace(which)) => {
                if let Some(process) = self.process(which) {
                    process.grace_over(which, out);
                }
            }
            Input::Over(Timer::Kill(which)) => {
                if self.process(which).is_some_and(|process| process.kill_over(which, out)) {
                    out.push(Effect::AnswerAll(Line::Stops, Reply::StillAlive));
                }
            }
        }
    }

    fn process(&mut self, which: Which) -> Option<&mut Process> {
        match (which, &mut self.dev) {
            (Which::Build, _) => self.build.as_mut().map(|job| &mut job.process),
            (Which::Dev, Dev::Live { process, .. }) => Some(process),
            (Which::Dev, Dev::Stopping(stopping)) => stopping.process.as_mut(),
            (Which::Dev, Dev::Stopped | Dev::Crashed(_) | Dev::Backoff(_) | Dev::Building(_)) => {
                None
            }
        }
    }

    /// Someone asks to run, or to run anew.
    fn run(&mut self, run: Run, out: &mut Out) {
        let anew = run.cause == RunCause::Restart;
        match &mut self.dev {
            Dev::Stopped | Dev::Crashed(_) => self.begin(run, out),
            Dev::Backoff(_) => {
                out.push(Effect::StopTimer(Timer::Backoff));
                self.begin(run, out);
            }
            // It is on its way, and will be as new as can be.
            Dev::Building(_) => {}
            Dev::Live { process, .. } => match (&process.child, anew) {
                (Child::Spawning, _) | (Child::Sweeping { .. }, false) => {}
                (Child::Alive { .. }, false) => return out.push(Effect::Answer(Reply::Already)),
                (Child::Alive { .. } | Child::Sweeping { .. }, true) => {
                    self.end_dev(StopCause::Restart, Some(run), out);
                }
            },
            Dev::Stopping(stopping) => {
                if stopping.cause == StopCause::Shutdown {
                    return out.push(Effect::Answer(Reply::Stopping));
                }
                stopping.next.get_or_insert(run);
            }
        }
        out.push(Effect::Wait(Line::Runs));
    }

    fn begin(&mut self, run: Run, out: &mut Out) {
        let Run { action, cause, restarts, .. } = run;
        out.push(Effect::Report(Said::Starting { action, cause, restarts }));
        if run.shape.build {
            self.dev = Dev::Building(run);
            if self.build.is_none() {
                self.spawn_build(action, out);
            }
        } else {
            self.spawn_dev(run, out);
        }
    }

    pub(super) fn spawn_dev(&mut self, run: Run, out: &mut Out) {
        out.push(Effect::Spawn { which: Which::Dev, action: run.action });
        self.dev = Dev::Live { run, process: Process::SPAWNING };
    }

    fn stop(&mut self, cause: StopCause, out: &mut Out) {
        match &mut self.dev {
            Dev::Stopped if self.build.is_none() => {
                return out.push(Effect::Answer(Reply::Stopped));
            }
            Dev::Crashed(action) if self.build.is_none() => {
                let action = *action;
                return self.forget_crash(action, cause, out);
            }
            Dev::Backoff(Run { action, .. }) if self.build.is_none() => {
                let action = *action;
                out.push(Effect::StopTimer(Timer::Backoff));
                return self.forget_crash(action, cause, out);
            }
            // The last word counts: what was to be run next is not.
            Dev::Stopping(stopping) => {
                stopping.next = None;
                if cause == StopCause::Shutdown || stopping.cause == StopCause::Restart {
                    stopping.cause = cause;
                }
            }
            Dev::Stopped
            | Dev::Crashed(_)
            | Dev::Backoff(_)
            | Dev::Building(_)
            | Dev::Live { .. } => self.end_dev(cause, None, out),
        }
        if let Some(job) = &mut self.build {
            job.process.end(Which::Build, out);
        }
        out.push(Effect::Wait(Line::Stops));
    }

    /// Nothing is there any more: only the crash is remembered, and not longer.
    fn forget_crash(&mut self, action: ActionId, cause: StopCause, out: &mut Out) {
        self.dev = Dev::Stopped;
        out.push(Effect::Report(Said::Stopped { action, cause, exit: Exit::default() }));
        out.push(Effect::Answer(Reply::Stopped));
    }

    /// From any state but stopping: the dev server, if it is there, is told to end.
    fn end_dev(&mut self, cause: StopCause, next: Option<Run>, out: &mut Out) {
        let exit = Exit::default();
        let build = self.build.as_ref().map(|job| job.action);
        let (action, mut process) = match std::mem::take(&mut self.dev) {
            Dev::Stopped => (build, None),
            Dev::Crashed(action) => (Some(action), None),
            Dev::Backoff(run) => {
                out.push(Effect::StopTimer(Timer::Backoff));
                (Some(run.action), None)
            }
            Dev::Building(run) => (Some(run.action), None),
            Dev::Live { run, process } => (Some(run.action), Some(process)),
            Dev::Stopping(stopping) => (Some(stopping.action), stopping.process),
        };
        let Some(action) = action else { return };
        out.push(Effect::Report(Said::Stopping { action, cause }));
        if let Some(process) = &mut process {
            process.end(Which::Dev, out);
        }
        self.dev = Dev::Stopping(Stopping { action, cause, process, exit, next });
    }

    fn spawned(&mut self, which: Which, pid: u32, now: Millis, out: &mut Out) {
        match self.process(which) {
            Some(process) if process.child == Child::Spawning => {
                process.spawned(which, pid, now, out);
            }
            // A process that nobody waits for must not stay.
            Some(_) | None => return out.push(Effect::Kill(which)),
        }
        if which == Which::Build {
            let action = self.build.as_ref().map(|job| job.action);
            out.extend(action.map(|action| Effect::Report(Said::BuildStarted { action, pid })));
        } else if let Dev::Live { run, .. } = &self.dev {
            let Run { action, cause, restarts, .. } = *run;
            out.push(Effect::Report(Said::Started { action, pid, cause, restarts }));
            out.push(Effect::AnswerAll(Line::Runs, Reply::Started));
        }
    }

    fn not_spawned(&mut self, out: &mut Out) {
        match std::mem::take(&mut self.dev) {
            Dev::Live { run, process: Process { child: Child::Spawning, .. } } => {
                // What is not there now is not there in a second either.
                self.crash(&run, CrashPhase::Starting, Exit::default(), out);
            }
            Dev::Stopping(stopping) => {
                let spawning = |process: &Process| process.child == Child::Spawning;
                let process = stopping.process.filter(|process| !spawning(process));
                self.dev = Dev::Stopping(Stopping { process, ..stopping });
                self.perhaps_stopped(out);
            }
            other @ (Dev::Stopped
            | Dev::Crashed(_)
            | Dev::Backoff(_)
            | Dev::Building(_)
            | Dev::Live { .. }) => self.dev = other,
        }
    }

    pub(super) fn crash(&mut self, run: &Run, phase: CrashPhase, exit: Exit, out: &mut Out) {
        let action = run.action;
        self.dev = Dev::Crashed(action);
        out.push(Effect::Report(Said::Crashed { action, phase, exit, restart_in: None }));
        out.push(Effect::AnswerAll(Line::Runs, Reply::Crashed(phase)));
    }

    fn dev_gone(&mut self, now: Millis, out: &mut Out) {
        match std::mem::take(&mut self.dev) {
            Dev::Live { mut run, process } => {
                let (exit, since) = process.gone(Which::Dev, out);
                let (action, phase) = (run.action, CrashPhase::Running);
                if exit.code == Some(0) {
                    let cause = StopCause::Exit;
                    out.push(Effect::Report(Said::Stopped { action, cause, exit }));
                    out.push(Effect::AnswerAll(Line::Runs, Reply::Ended));
                } else if let Some(wait) = run.crashed(since, now) {
                    self.dev = Dev::Backoff(run);
                    let restart_in = Some(wait);
                    out.push(Effect::Report(Said::Crashed { action, phase, exit, restart_in }));
                    out.push(Effect::AnswerAll(Line::Runs, Reply::Crashed(phase)));
                    out.push(Effect::StartTimer(Timer::Backoff, wait));
                } else {
                    self.crash(&run, phase, exit, out);
                }
            }
            Dev::Stopping(mut stopping) => {
                if let Some(process) = stopping.process.take() {
                    (stopping.exit, _) = process.gone(Which::Dev, out);
                }
                self.dev = Dev::Stopping(stopping);
                self.perhaps_stopped(out);
            }
            other @ (Dev::Stopped | Dev::Crashed(_) | Dev::Backoff(_) | Dev::Building(_)) => {
                self.dev = other;
            }
        }
    }

    /// Stopped is what has nothing left; a build that nobody told to end goes on.
    pub(super) fn perhaps_stopped(&mut self, out: &mut Out) {
        let ending = self.build.as_ref().is_some_and(|job| job.process.told != Told::Nothing);
        let Dev::Stopping(stopping) = &mut self.dev else { return };
        if ending || stopping.process.is_some() {
            return;
        }
        let Stopping { action, cause, exit, .. } = *stopping;
        let next = stopping.next.take();
        self.dev = Dev::Stopped;
        out.push(Effect::Report(Said::Stopped { action, cause, exit }));
        out.push(Effect::AnswerAll(Line::Stops, Reply::Stopped));
        match next {
            Some(run) => self.begin(run, out),
            None => out.push(Effect::AnswerAll(Line::Runs, Reply::Stopped)),
        }
    }
}
