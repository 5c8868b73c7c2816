//! The one build: on its own, or for a run that waits for it.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase};

use super::apply::Out;
use super::process::{Child, Process, Told};
use super::{Dev, Effect, Job, Line, Reply, Runtime, Said, Which};

impl Runtime {
    pub(super) fn spawn_build(&mut self, action: ActionId, out: &mut Out) {
        self.build = Some(Job { action, process: Process::SPAWNING });
        out.push(Effect::Spawn { which: Which::Build, action });
    }

    pub(super) fn build(&mut self, action: ActionId, out: &mut Out) {
        let stopping = matches!(self.dev, Dev::Stopping(_));
        match &self.build {
            Some(job) if job.process.told == Told::Nothing => out.push(Effect::Wait(Line::Builds)),
            None if !stopping => {
                self.spawn_build(action, out);
                out.push(Effect::Wait(Line::Builds));
            }
            Some(_) | None => out.push(Effect::Answer(Reply::Stopping)),
        }
    }

    /// Nothing of the build is left, or it never was.
    pub(super) fn build_ended(&mut self, end: Option<BuildFailureCause>, out: &mut Out) {
        let spawning = |job: &Job| job.process.child == Child::Spawning;
        if end.is_some() && !self.build.as_ref().is_some_and(spawning) {
            return;
        }
        let Some(Job { action, process }) = self.build.take() else { return };
        let told = process.told != Told::Nothing;
        let (exit, _) = process.gone(Which::Build, out);
        let end = match end {
            _ if told => Some(BuildFailureCause::Stopped),
            Some(end) => Some(end),
            None => (exit.code != Some(0)).then_some(BuildFailureCause::Failed),
        };
        let (said, reply) = match end {
            None => (Said::BuildSucceeded { action }, Reply::Built),
            Some(end) => (Said::BuildFailed { action, end, exit }, Reply::NotBuilt(end)),
        };
        out.push(Effect::Report(said));
        out.push(Effect::AnswerAll(Line::Builds, reply));
        match std::mem::take(&mut self.dev) {
            Dev::Building(run) if end.is_none() => self.spawn_dev(run, out),
            Dev::Building(run) => self.crash(&run, CrashPhase::Building, exit, out),
            other @ (Dev::Stopped
            | Dev::Crashed(_)
            | Dev::Backoff(_)
            | Dev::Live { .. }
            | Dev::Stopping(_)) => {
                self.dev = other;
                self.perhaps_stopped(out);
            }
        }
    }
}
