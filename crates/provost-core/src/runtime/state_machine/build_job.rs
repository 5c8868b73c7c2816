//! The one build: on its own, or for a run that waits for it.

use provost_proto::ActionId;
use provost_proto::runtime::{BuildFailureCause, CrashPhase};

use super::apply_input::RuntimeEffects;
use super::process_tree::{ProcessPhase, ProcessTreeState, TerminationStage};
use super::{
    AwaitedState, BuildJob, DevServerState, RuntimeEffect, RuntimeProcessKind, RuntimeReply,
    RuntimeStateMachine, RuntimeTransition,
};

impl RuntimeStateMachine {
    pub(super) fn spawn_build(&mut self, action: ActionId, out: &mut RuntimeEffects) {
        self.build = Some(BuildJob { action, process: ProcessTreeState::SPAWNING });
        out.push(RuntimeEffect::Spawn { which: RuntimeProcessKind::Build, action });
    }

    pub(super) fn request_build(&mut self, action: ActionId, out: &mut RuntimeEffects) {
        let stopping = matches!(self.dev, DevServerState::Stopping(_));
        match &self.build {
            Some(job) if job.process.termination == TerminationStage::NotRequested => {
                out.push(RuntimeEffect::Wait(AwaitedState::Built));
            }
            None if !stopping => {
                self.spawn_build(action, out);
                out.push(RuntimeEffect::Wait(AwaitedState::Built));
            }
            Some(_) | None => out.push(RuntimeEffect::Answer(RuntimeReply::Stopping)),
        }
    }

    /// The build has ended completely, or could not be started.
    pub(super) fn handle_build_ended(
        &mut self,
        end: Option<BuildFailureCause>,
        out: &mut RuntimeEffects,
    ) {
        let spawning = |job: &BuildJob| job.process.child == ProcessPhase::Spawning;
        if end.is_some() && !self.build.as_ref().is_some_and(spawning) {
            return;
        }
        let Some(BuildJob { action, process }) = self.build.take() else { return };
        let termination = process.termination != TerminationStage::NotRequested;
        let (exit, _) = process.into_exit(RuntimeProcessKind::Build, out);
        let end = match end {
            _ if termination => Some(BuildFailureCause::Stopped),
            Some(end) => Some(end),
            None => (exit.code != Some(0)).then_some(BuildFailureCause::Failed),
        };
        let (transition, reply) = match end {
            None => (RuntimeTransition::BuildSucceeded { action }, RuntimeReply::Built),
            Some(end) => (
                RuntimeTransition::BuildFailed { action, end, exit },
                RuntimeReply::BuildFailed(end),
            ),
        };
        out.push(RuntimeEffect::Report(transition));
        out.push(RuntimeEffect::AnswerAll(AwaitedState::Built, reply));
        match std::mem::take(&mut self.dev) {
            DevServerState::Building(run) if end.is_none() => self.spawn_dev(run, out),
            DevServerState::Building(run) => {
                self.enter_crashed(&run, CrashPhase::Building, exit, out);
            }
            other @ (DevServerState::Stopped
            | DevServerState::Crashed(_)
            | DevServerState::Backoff(_)
            | DevServerState::Live { .. }
            | DevServerState::Stopping(_)) => {
                self.dev = other;
                self.finish_stopping_if_done(out);
            }
        }
    }
}
