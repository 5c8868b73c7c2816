//! The transition for each input.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase, RunCause, StopCause};

use super::process_tree::{ProcessPhase, ProcessTreeState, TerminationStage};
use super::{
    AwaitedState, DevServerRun, DevServerState, Millis, RuntimeEffect, RuntimeExit, RuntimeInput,
    RuntimeProcessKind, RuntimeReply, RuntimeStateMachine, RuntimeTimer, RuntimeTransition,
    StoppingState,
};

pub(super) type RuntimeEffects = Vec<RuntimeEffect>;

impl RuntimeStateMachine {
    pub(super) fn apply_input(
        &mut self,
        now: Millis,
        input: RuntimeInput,
        out: &mut RuntimeEffects,
    ) {
        match input {
            RuntimeInput::Run { action, shape } => {
                self.request_run(DevServerRun::new(action, shape, RunCause::Run), out);
            }
            RuntimeInput::Restart { action, shape } => {
                self.request_run(DevServerRun::new(action, shape, RunCause::Restart), out);
            }
            RuntimeInput::Build { action } => self.request_build(action, out),
            RuntimeInput::Stop => self.request_stop(StopCause::Stop, out),
            RuntimeInput::Shutdown => self.request_stop(StopCause::Shutdown, out),
            RuntimeInput::Spawned { which, pid } => self.handle_spawned(which, pid, now, out),
            RuntimeInput::SpawnFailed { which: RuntimeProcessKind::Build } => {
                self.handle_build_ended(Some(BuildFailureCause::NotStarted), out);
            }
            RuntimeInput::SpawnFailed { which: RuntimeProcessKind::Dev } => {
                self.handle_spawn_failed(out);
            }
            RuntimeInput::Exited { which, exit } => {
                if let Some(process) = self.process_mut(which) {
                    process.mark_exited(which, exit, out);
                }
            }
            RuntimeInput::TreeGone { which } => {
                let spawning =
                    |process: &mut ProcessTreeState| process.child == ProcessPhase::Spawning;
                match (self.process_mut(which).map(spawning), which) {
                    // A process that never started cannot have ended.
                    (Some(true) | None, _) => {}
                    (Some(false), RuntimeProcessKind::Build) => self.handle_build_ended(None, out),
                    (Some(false), RuntimeProcessKind::Dev) => self.handle_dev_gone(now, out),
                }
            }
            RuntimeInput::TimerExpired(RuntimeTimer::Backoff) => {
                self.dev = match std::mem::take(&mut self.dev) {
                    DevServerState::Backoff(run) => return self.begin_run(run.restarted(), out),
                    other @ (DevServerState::Stopped
                    | DevServerState::Crashed(_)
                    | DevServerState::Building(_)
                    | DevServerState::Live { .. }
                    | DevServerState::Stopping(_)) => other,
                };
            }
            RuntimeInput::TimerExpired(RuntimeTimer::Grace(which)) => {
                if let Some(process) = self.process_mut(which) {
                    process.handle_grace_expired(which, out);
                }
            }
            RuntimeInput::TimerExpired(RuntimeTimer::Kill(which)) => {
                if self
                    .process_mut(which)
                    .is_some_and(|process| process.handle_kill_expired(which, out))
                {
                    out.push(RuntimeEffect::AnswerAll(
                        AwaitedState::Stopped,
                        RuntimeReply::StillAlive,
                    ));
                }
            }
        }
    }

    fn process_mut(&mut self, which: RuntimeProcessKind) -> Option<&mut ProcessTreeState> {
        match (which, &mut self.dev) {
            (RuntimeProcessKind::Build, _) => self.build.as_mut().map(|job| &mut job.process),
            (RuntimeProcessKind::Dev, DevServerState::Live { process, .. }) => Some(process),
            (RuntimeProcessKind::Dev, DevServerState::Stopping(stopping)) => {
                stopping.process.as_mut()
            }
            (
                RuntimeProcessKind::Dev,
                DevServerState::Stopped
                | DevServerState::Crashed(_)
                | DevServerState::Backoff(_)
                | DevServerState::Building(_),
            ) => None,
        }
    }

    /// A request to run, or to restart.
    fn request_run(&mut self, run: DevServerRun, out: &mut RuntimeEffects) {
        let anew = run.cause == RunCause::Restart;
        match &mut self.dev {
            DevServerState::Stopped | DevServerState::Crashed(_) => self.begin_run(run, out),
            DevServerState::Backoff(_) => {
                out.push(RuntimeEffect::StopTimer(RuntimeTimer::Backoff));
                self.begin_run(run, out);
            }
            // It is being built, so it will be up to date.
            DevServerState::Building(_) => {}
            DevServerState::Live { process, .. } => match (&process.child, anew) {
                (ProcessPhase::Spawning, _) | (ProcessPhase::Sweeping { .. }, false) => {}
                (ProcessPhase::Alive { .. }, false) => {
                    return out.push(RuntimeEffect::Answer(RuntimeReply::AlreadyRunning));
                }
                (ProcessPhase::Alive { .. } | ProcessPhase::Sweeping { .. }, true) => {
                    self.begin_stopping(StopCause::Restart, Some(run), out);
                }
            },
            DevServerState::Stopping(stopping) => {
                if stopping.cause == StopCause::Shutdown {
                    return out.push(RuntimeEffect::Answer(RuntimeReply::Stopping));
                }
                stopping.next.get_or_insert(run);
            }
        }
        out.push(RuntimeEffect::Wait(AwaitedState::Running));
    }

    fn begin_run(&mut self, run: DevServerRun, out: &mut RuntimeEffects) {
        let DevServerRun { action, cause, restarts, .. } = run;
        out.push(RuntimeEffect::Report(RuntimeTransition::Starting { action, cause, restarts }));
        if run.shape.build {
            self.dev = DevServerState::Building(run);
            if self.build.is_none() {
                self.spawn_build(action, out);
            }
        } else {
            self.spawn_dev(run, out);
        }
    }

    pub(super) fn spawn_dev(&mut self, run: DevServerRun, out: &mut RuntimeEffects) {
        out.push(RuntimeEffect::Spawn { which: RuntimeProcessKind::Dev, action: run.action });
        self.dev = DevServerState::Live { run, process: ProcessTreeState::SPAWNING };
    }

    fn request_stop(&mut self, cause: StopCause, out: &mut RuntimeEffects) {
        match &mut self.dev {
            DevServerState::Stopped if self.build.is_none() => {
                return out.push(RuntimeEffect::Answer(RuntimeReply::Stopped));
            }
            DevServerState::Crashed(action) if self.build.is_none() => {
                let action = *action;
                return self.clear_crash(action, cause, out);
            }
            DevServerState::Backoff(DevServerRun { action, .. }) if self.build.is_none() => {
                let action = *action;
                out.push(RuntimeEffect::StopTimer(RuntimeTimer::Backoff));
                return self.clear_crash(action, cause, out);
            }
            // The last request counts: it replaces what was to run next.
            DevServerState::Stopping(stopping) => {
                stopping.next = None;
                if cause == StopCause::Shutdown || stopping.cause == StopCause::Restart {
                    stopping.cause = cause;
                }
            }
            DevServerState::Stopped
            | DevServerState::Crashed(_)
            | DevServerState::Backoff(_)
            | DevServerState::Building(_)
            | DevServerState::Live { .. } => self.begin_stopping(cause, None, out),
        }
        if let Some(job) = &mut self.build {
            job.process.terminate(RuntimeProcessKind::Build, out);
        }
        out.push(RuntimeEffect::Wait(AwaitedState::Stopped));
    }

    /// Nothing runs any more: forget the crash.
    fn clear_crash(&mut self, action: ActionId, cause: StopCause, out: &mut RuntimeEffects) {
        self.dev = DevServerState::Stopped;
        out.push(RuntimeEffect::Report(RuntimeTransition::Stopped {
            action,
            cause,
            exit: RuntimeExit::default(),
        }));
        out.push(RuntimeEffect::Answer(RuntimeReply::Stopped));
    }

    /// From any state but stopping: terminates the dev server, if it runs.
    fn begin_stopping(
        &mut self,
        cause: StopCause,
        next: Option<DevServerRun>,
        out: &mut RuntimeEffects,
    ) {
        let exit = RuntimeExit::default();
        let build = self.build.as_ref().map(|job| job.action);
        let (action, mut process) = match std::mem::take(&mut self.dev) {
            DevServerState::Stopped => (build, None),
            DevServerState::Crashed(action) => (Some(action), None),
            DevServerState::Backoff(run) => {
                out.push(RuntimeEffect::StopTimer(RuntimeTimer::Backoff));
                (Some(run.action), None)
            }
            DevServerState::Building(run) => (Some(run.action), None),
            DevServerState::Live { run, process } => (Some(run.action), Some(process)),
            DevServerState::Stopping(stopping) => (Some(stopping.action), stopping.process),
        };
        let Some(action) = action else { return };
        out.push(RuntimeEffect::Report(RuntimeTransition::Stopping { action, cause }));
        if let Some(process) = &mut process {
            process.terminate(RuntimeProcessKind::Dev, out);
        }
        self.dev = DevServerState::Stopping(StoppingState { action, cause, process, exit, next });
    }

    fn handle_spawned(
        &mut self,
        which: RuntimeProcessKind,
        pid: u32,
        now: Millis,
        out: &mut RuntimeEffects,
    ) {
        match self.process_mut(which) {
            Some(process) if process.child == ProcessPhase::Spawning => {
                process.mark_spawned(which, pid, now, out);
            }
            // A process that is not expected must not stay.
            Some(_) | None => return out.push(RuntimeEffect::Kill(which)),
        }
        if which == RuntimeProcessKind::Build {
            let action = self.build.as_ref().map(|job| job.action);
            out.extend(action.map(|action| {
                RuntimeEffect::Report(RuntimeTransition::BuildStarted { action, pid })
            }));
        } else if let DevServerState::Live { run, .. } = &self.dev {
            let DevServerRun { action, cause, restarts, .. } = *run;
            out.push(RuntimeEffect::Report(RuntimeTransition::Started {
                action,
                pid,
                cause,
                restarts,
            }));
            out.push(RuntimeEffect::AnswerAll(AwaitedState::Running, RuntimeReply::Started));
        }
    }

    fn handle_spawn_failed(&mut self, out: &mut RuntimeEffects) {
        match std::mem::take(&mut self.dev) {
            DevServerState::Live {
                run,
                process: ProcessTreeState { child: ProcessPhase::Spawning, .. },
            } => {
                // A missing program will still be missing after a delay, so there is no restart.
                self.enter_crashed(&run, CrashPhase::Starting, RuntimeExit::default(), out);
            }
            DevServerState::Stopping(stopping) => {
                let spawning = |process: &ProcessTreeState| process.child == ProcessPhase::Spawning;
                let process = stopping.process.filter(|process| !spawning(process));
                self.dev = DevServerState::Stopping(StoppingState { process, ..stopping });
                self.finish_stopping_if_done(out);
            }
            other @ (DevServerState::Stopped
            | DevServerState::Crashed(_)
            | DevServerState::Backoff(_)
            | DevServerState::Building(_)
            | DevServerState::Live { .. }) => self.dev = other,
        }
    }

    pub(super) fn enter_crashed(
        &mut self,
        run: &DevServerRun,
        phase: CrashPhase,
        exit: RuntimeExit,
        out: &mut RuntimeEffects,
    ) {
        let action = run.action;
        self.dev = DevServerState::Crashed(action);
        out.push(RuntimeEffect::Report(RuntimeTransition::Crashed {
            action,
            phase,
            exit,
            restart_in: None,
        }));
        out.push(RuntimeEffect::AnswerAll(AwaitedState::Running, RuntimeReply::Crashed(phase)));
    }

    fn handle_dev_gone(&mut self, now: Millis, out: &mut RuntimeEffects) {
        match std::mem::take(&mut self.dev) {
            DevServerState::Live { mut run, process } => {
                let (exit, since) = process.into_exit(RuntimeProcessKind::Dev, out);
                let (action, phase) = (run.action, CrashPhase::Running);
                if exit.code == Some(0) {
                    let cause = StopCause::Exit;
                    out.push(RuntimeEffect::Report(RuntimeTransition::Stopped {
                        action,
                        cause,
                        exit,
                    }));
                    out.push(RuntimeEffect::AnswerAll(AwaitedState::Running, RuntimeReply::Exited));
                } else if let Some(wait) = run.record_crash(since, now) {
                    self.dev = DevServerState::Backoff(run);
                    let restart_in = Some(wait);
                    out.push(RuntimeEffect::Report(RuntimeTransition::Crashed {
                        action,
                        phase,
                        exit,
                        restart_in,
                    }));
                    out.push(RuntimeEffect::AnswerAll(
                        AwaitedState::Running,
                        RuntimeReply::Crashed(phase),
                    ));
                    out.push(RuntimeEffect::StartTimer(RuntimeTimer::Backoff, wait));
                } else {
                    self.enter_crashed(&run, phase, exit, out);
                }
            }
            DevServerState::Stopping(mut stopping) => {
                if let Some(process) = stopping.process.take() {
                    (stopping.exit, _) = process.into_exit(RuntimeProcessKind::Dev, out);
                }
                self.dev = DevServerState::Stopping(stopping);
                self.finish_stopping_if_done(out);
            }
            other @ (DevServerState::Stopped
            | DevServerState::Crashed(_)
            | DevServerState::Backoff(_)
            | DevServerState::Building(_)) => {
                self.dev = other;
            }
        }
    }

    /// The state is stopped when nothing is left; a build that was not stopped continues.
    pub(super) fn finish_stopping_if_done(&mut self, out: &mut RuntimeEffects) {
        let ending = self
            .build
            .as_ref()
            .is_some_and(|job| job.process.termination != TerminationStage::NotRequested);
        let DevServerState::Stopping(stopping) = &mut self.dev else { return };
        if ending || stopping.process.is_some() {
            return;
        }
        let StoppingState { action, cause, exit, .. } = *stopping;
        let next = stopping.next.take();
        self.dev = DevServerState::Stopped;
        out.push(RuntimeEffect::Report(RuntimeTransition::Stopped { action, cause, exit }));
        out.push(RuntimeEffect::AnswerAll(AwaitedState::Stopped, RuntimeReply::Stopped));
        match next {
            Some(run) => self.begin_run(run, out),
            None => {
                out.push(RuntimeEffect::AnswerAll(AwaitedState::Running, RuntimeReply::Stopped));
            }
        }
    }
}
