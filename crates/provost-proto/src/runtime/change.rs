//! The changes of a runtime, as reported by the kernel and recorded in the log.

use serde::{Deserialize, Serialize};

use super::{BuildDiagnostic, CrashReport, ListeningPort};
use crate::kernel::ReportNumber;
use crate::{ActionId, Fact, ProjectId};

macro_rules! body {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
            pub struct $name { $($(#[$about])* pub $field: $type,)+ }
        )+
    };
}

macro_rules! word {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            pub enum $name { $($(#[$about])* $variant,)+ }
        )+
    };
}

word! {
    /// Why a dev server was started.
    RunCause {
        /// A request to run.
        Run,
        /// A request to restart.
        Restart,
        /// It crashed, and is configured to be restarted.
        Crash,
    }
    /// Why a dev server or a terminal ended without a crash.
    StopCause {
        /// A request to stop.
        Stop,
        /// A request to restart.
        Restart,
        /// It exited with success.
        Exit,
        /// The kernel shuts down.
        Shutdown,
    }
    /// The phase in which a run crashed.
    CrashPhase {
        /// The program could not be started.
        Starting,
        /// The build failed.
        Building,
        /// It was running.
        Running,
    }
    /// Why a build did not succeed.
    BuildFailureCause {
        /// The tool failed.
        Failed,
        /// It was stopped.
        Stopped,
        /// The program could not be started.
        NotStarted,
    }
    /// How a port was detected.
    PortSource {
        /// A URL was printed, and a process of the project listens there.
        Output,
        /// It is configured.
        Configured,
        /// A process of the project listens.
        Listener,
    }
}

body! {
    /// A build was started.
    BuildStarted {
        /// Its process id.
        pid: u32,
        /// The command.
        command: String,
    }
    /// A build succeeded.
    BuildSucceeded {
        /// The duration.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        duration_ms: u64,
        /// Its warnings.
        warnings: Vec<BuildDiagnostic>,
    }
    /// A build failed or was stopped.
    BuildFailed {
        /// Why it did not succeed.
        end: BuildFailureCause,
        /// The exit code, if it exited.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Why it could not be started, if so.
        why: Option<String>,
        /// The duration.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        duration_ms: u64,
        /// Its diagnostics, the errors first: at most
        /// [`MAX_BUILD_DIAGNOSTICS`](crate::limits::MAX_BUILD_DIAGNOSTICS).
        errors: Vec<BuildDiagnostic>,
        /// How many more diagnostics there were.
        omitted: u32,
    }
    /// A run begins.
    RuntimeStarting {
        /// The command.
        command: String,
        /// Why this command was chosen, as text for people.
        why: String,
        /// Why it is started now.
        cause: RunCause,
        /// How many times it was restarted after a crash.
        restarts: u32,
    }
    /// The dev server was started.
    RuntimeStarted {
        /// Its process id.
        pid: u32,
        /// The command.
        command: String,
        /// The sandbox profile.
        profile: String,
        /// Why it was started.
        cause: RunCause,
        /// How many times it was restarted after a crash.
        restarts: u32,
    }
    /// The dev server is being stopped.
    RuntimeStopping {
        /// The cause.
        cause: StopCause,
    }
    /// The dev server was stopped, and no process of it is left.
    RuntimeStopped {
        /// The cause.
        cause: StopCause,
        /// The exit code, if it exited.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    }
    /// The run ended without a request, and no process of it is left.
    RuntimeCrashed {
        /// The phase in which it crashed.
        phase: CrashPhase,
        /// How it ended.
        crash: CrashReport,
        /// The delay before it is restarted, if it is.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        restart_in_ms: Option<u64>,
    }
    /// A port was detected, or answers.
    PreviewDetection {
        /// The port of the preview.
        port: u16,
        /// How it was detected.
        by: PortSource,
        /// All ports on which processes of the project listen.
        ports: Vec<ListeningPort>,
    }
    /// The preview no longer answers.
    PreviewLost {
        /// Its port.
        port: u16,
        /// The reason, as text for people.
        why: String,
        /// All ports on which processes of the project still listen.
        ports: Vec<ListeningPort>,
    }
    /// The terminal was opened.
    TerminalOpened {
        /// The process id of its shell.
        pid: u32,
        /// The shell.
        command: String,
        /// The sandbox profile.
        profile: String,
        /// Its width, in columns.
        cols: u16,
        /// Its height, in rows.
        rows: u16,
    }
    /// The terminal was resized.
    TerminalSize {
        /// Its width, in columns.
        cols: u16,
        /// Its height, in rows.
        rows: u16,
    }
    /// The terminal's shell has ended.
    TerminalClosed {
        /// The cause.
        cause: StopCause,
        /// The exit code, if it exited.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    }
}

macro_rules! changes {
    ($($(#[$doc:meta])* $variant:ident($body:ident) = $fact:ident { $field:ident };)+) => {
        /// A change of a project's runtime. Each is one report and one fact.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "change", content = "body", rename_all = "camelCase")]
        pub enum RuntimeChange {
            $($(#[$doc])* $variant($body),)+
        }

        impl RuntimeChange {
            /// The fact of the log.
            pub fn into_fact(
                self,
                project: ProjectId,
                action: ActionId,
                report: ReportNumber,
            ) -> Fact {
                match self {
                    $(Self::$variant($field) => Fact::$fact { action, project, report, $field },)+
                }
            }

            /// The report number of a fact; `None` if it is not about the runtime.
            pub fn report_number(fact: &Fact) -> Option<ReportNumber> {
                $(if let Fact::$fact { report, .. } = fact {
                    return Some(*report);
                })+
                None
            }

            /// The change of a fact with project, action and report number; `None` if it is not
            /// about the runtime.
            pub fn from_fact(fact: &Fact) -> Option<(ProjectId, ActionId, ReportNumber, Self)> {
                $(if let Fact::$fact { action, project, report, $field } = fact {
                    return Some((*project, *action, *report, Self::$variant($field.clone())));
                })+
                None
            }
        }
    };
}

changes! {
    /// A build was started.
    BuildStarted(BuildStarted) = BuildStarted { build };
    /// A build succeeded.
    BuildSucceeded(BuildSucceeded) = BuildSucceeded { build };
    /// A build failed or was stopped.
    BuildFailed(BuildFailed) = BuildFailed { build };
    /// A run begins.
    Starting(RuntimeStarting) = RuntimeStarting { run };
    /// The dev server was started for the first time in its run.
    Started(RuntimeStarted) = RuntimeStarted { run };
    /// The dev server was started again.
    Restarted(RuntimeStarted) = RuntimeRestarted { run };
    /// The dev server is being stopped.
    Stopping(RuntimeStopping) = RuntimeStopping { run };
    /// The dev server was stopped.
    Stopped(RuntimeStopped) = RuntimeStopped { run };
    /// The run ended without a request.
    Crashed(RuntimeCrashed) = RuntimeCrashed { run };
    /// A port was detected.
    PreviewDetected(PreviewDetection) = PreviewDetected { preview };
    /// The preview answers.
    PreviewReady(PreviewDetection) = PreviewReady { preview };
    /// The preview no longer answers.
    PreviewLost(PreviewLost) = PreviewLost { preview };
    /// The terminal was opened.
    TerminalOpened(TerminalOpened) = TerminalOpened { terminal };
    /// The terminal was resized.
    TerminalResized(TerminalSize) = TerminalResized { terminal };
    /// The terminal's shell has ended.
    TerminalClosed(TerminalClosed) = TerminalClosed { terminal };
}
