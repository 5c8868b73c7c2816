//! Turns a transition of the state machine into the change that is reported.

use std::time::Instant;

use provost_core::runtime::build_diagnostics::{self, BuildDiagnostics};
use provost_core::runtime::plan::RuntimePlan;
use provost_core::runtime::state_machine::{RuntimeExit, RuntimeTransition};
use provost_proto::runtime::{
    BuildFailed, BuildFailureCause, BuildStarted, BuildSucceeded, CrashPhase, CrashReport,
    DiagnosticSeverity, RunCause, RuntimeChange, RuntimeCrashed, RuntimeStarted, RuntimeStarting,
    RuntimeStopped, RuntimeStopping,
};
use provost_proto::{ActionId, UnixMicros};

/// What is known of the last process tree of its kind.
#[derive(Debug, Default)]
pub(super) struct LastTreeRun {
    pub(super) command: String,
    pub(super) started_at: Option<Instant>,
    /// Why it did not start, if it did not.
    pub(super) why: Option<String>,
    /// Its recent output: as text, and the last lines.
    pub(super) text: String,
    pub(super) lines: Vec<String>,
}

impl LastTreeRun {
    fn duration_ms(&self) -> u64 {
        let duration =
            self.started_at.map(|started_at| started_at.elapsed().as_millis()).unwrap_or_default();
        u64::try_from(duration).unwrap_or(u64::MAX)
    }
}

/// What the actor adds to a transition.
#[derive(Debug)]
pub(super) struct RuntimeChangeBuilder<'a> {
    pub(super) plan: Option<&'a RuntimePlan>,
    /// The redacted command of the plan.
    pub(super) command: String,
    pub(super) build: &'a LastTreeRun,
    pub(super) dev: &'a LastTreeRun,
    pub(super) at: UnixMicros,
}

impl RuntimeChangeBuilder<'_> {
    /// The change to report, and the action that caused it.
    pub(super) fn build_change(&self, transition: RuntimeTransition) -> (ActionId, RuntimeChange) {
        match transition {
            RuntimeTransition::BuildStarted { action, pid } => {
                let command = self.build.command.clone();
                (action, RuntimeChange::BuildStarted(BuildStarted { pid, command }))
            }
            RuntimeTransition::BuildSucceeded { action } => {
                let BuildDiagnostics { mut errors, .. } =
                    build_diagnostics::parse_build_output(&self.build.text);
                errors.retain(|error| error.severity == DiagnosticSeverity::Warning);
                let duration_ms = self.build.duration_ms();
                let done = BuildSucceeded { duration_ms, warnings: errors };
                (action, RuntimeChange::BuildSucceeded(done))
            }
            RuntimeTransition::BuildFailed { action, end, exit } => {
                (action, RuntimeChange::BuildFailed(self.to_build_failure(end, exit)))
            }
            RuntimeTransition::Starting { action, cause, restarts } => {
                let command = self.command.clone();
                let why = self.plan.map(|plan| plan.why.clone()).unwrap_or_default();
                let run = RuntimeStarting { command, why, cause, restarts };
                (action, RuntimeChange::Starting(run))
            }
            RuntimeTransition::Started { action, pid, cause, restarts } => {
                let (command, profile) = (self.dev.command.clone(), "serve".to_owned());
                let run = RuntimeStarted { pid, command, profile, cause, restarts };
                let change = match cause {
                    RunCause::Run => RuntimeChange::Started(run),
                    RunCause::Restart | RunCause::Crash => RuntimeChange::Restarted(run),
                };
                (action, change)
            }
            RuntimeTransition::Stopping { action, cause } => {
                (action, RuntimeChange::Stopping(RuntimeStopping { cause }))
            }
            RuntimeTransition::Stopped { action, cause, exit } => {
                let stop = RuntimeStopped { cause, exit_code: exit.code, signal: exit.signal };
                (action, RuntimeChange::Stopped(stop))
            }
            RuntimeTransition::Crashed { action, phase, exit, restart_in } => {
                let crash = self.to_crash_report(phase, exit);
                let run = RuntimeCrashed { phase, crash, restart_in_ms: restart_in };
                (action, RuntimeChange::Crashed(run))
            }
        }
    }

    fn to_build_failure(&self, end: BuildFailureCause, exit: RuntimeExit) -> BuildFailed {
        let found = match end {
            BuildFailureCause::Failed => build_diagnostics::parse_build_output(&self.build.text),
            BuildFailureCause::Stopped | BuildFailureCause::NotStarted => {
                BuildDiagnostics::default()
            }
        };
        BuildFailed {
            end,
            exit_code: exit.code,
            signal: exit.signal,
            why: self.build.why.clone(),
            duration_ms: self.build.duration_ms(),
            errors: found.errors,
            omitted: found.omitted,
        }
    }

    fn to_crash_report(&self, phase: CrashPhase, exit: RuntimeExit) -> CrashReport {
        let (last_run, why) = match phase {
            CrashPhase::Building => (self.build, Some("its build failed".to_owned())),
            CrashPhase::Starting => (self.dev, self.dev.why.clone()),
            CrashPhase::Running => (self.dev, None),
        };
        CrashReport {
            exit_code: exit.code,
            signal: exit.signal,
            why,
            last_lines: last_run.lines.clone(),
            at: self.at,
        }
    }
}
