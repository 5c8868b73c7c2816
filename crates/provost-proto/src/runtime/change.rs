//! The changes of a runtime, as the kernel reports them and the log keeps them.

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
        /// Someone asked to run.
        Run,
        /// Someone asked to restart.
        Restart,
        /// It crashed, and is configured to come back.
        Crash,
    }
    /// Why a dev server or a terminal ended without a crash.
    StopCause {
        /// Someone asked to stop.
        Stop,
        /// Someone asked to restart.
        Restart,
        /// It ended by itself, and well.
        Exit,
        /// The kernel ends.
        Shutdown,
    }
    /// How far a run had come when it crashed.
    CrashPhase {
        /// Its program did not start.
        Starting,
        /// Its build failed.
        Building,
        /// It ran.
        Running,
    }
    /// How a build ended that did not succeed.
    BuildFailureCause {
        /// The tool failed.
        Failed,
        /// Someone stopped it.
        Stopped,
        /// Its program did not start.
        NotStarted,
    }
    /// What gave a port away.
    PortSource {
        /// A URL was printed, and something of the project listens there.
        Output,
        /// The configuration names it.
        Configured,
        /// Something of the project listens.
        Listener,
    }
}

body! {
    /// A build began.
    BuildStarted {
        /// Its process id.
        pid: u32,
        /// What runs.
        command: String,
    }
    /// A build succeeded.
    BuildSucceeded {
        /// How long it took.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        duration_ms: u64,
        /// What it warned of.
        warnings: Vec<BuildDiagnostic>,
    }
    /// A build did not succeed.
    BuildFailed {
        /// How.
        end: BuildFailureCause,
        /// The exit code, if it ended by itself.
        exit_code: Option<i32>,
        /// The signal, if that ended it.
        signal: Option<i32>,
        /// Why it could not start, if so.
        why: Option<String>,
        /// How long it took.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        duration_ms: u64,
        /// What the tool complained about, the errors first: at most
        /// [`BUILD_ERRORS`](crate::limits::BUILD_ERRORS).
        errors: Vec<BuildDiagnostic>,
        /// How many more there were.
        omitted: u32,
    }
    /// A run began.
    RuntimeStarting {
        /// What will run.
        command: String,
        /// Why just that, in plain words.
        why: String,
        /// Why now.
        cause: RunCause,
        /// How many times it has been restarted after a crash.
        restarts: u32,
    }
    /// The dev server runs.
    RuntimeStarted {
        /// Its process id.
        pid: u32,
        /// What runs.
        command: String,
        /// The profile it runs under.
        profile: String,
        /// Why it was started.
        cause: RunCause,
        /// How many times it has been restarted after a crash.
        restarts: u32,
    }
    /// The dev server was told to end.
    RuntimeStopping {
        /// Why.
        cause: StopCause,
    }
    /// The run is over, and nothing of it is left.
    RuntimeStopped {
        /// Why.
        cause: StopCause,
        /// The exit code, if it ended by itself.
        exit_code: Option<i32>,
        /// The signal, if that ended it.
        signal: Option<i32>,
    }
    /// The run ended though nobody asked, and nothing of it is left.
    RuntimeCrashed {
        /// How far it had come.
        phase: CrashPhase,
        /// How it ended.
        crash: CrashReport,
        /// When it comes back, if it does.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        restart_in_ms: Option<u64>,
    }
    /// A port was found, or answers.
    PreviewDetection {
        /// The one that is the preview.
        port: u16,
        /// What gave it away.
        by: PortSource,
        /// All on which something of the project listens.
        ports: Vec<ListeningPort>,
    }
    /// The preview does not answer any more.
    PreviewLost {
        /// The port it was on.
        port: u16,
        /// Why, for people.
        why: String,
        /// All on which something of the project still listens.
        ports: Vec<ListeningPort>,
    }
    /// The terminal is there.
    TerminalOpened {
        /// The process id of its shell.
        pid: u32,
        /// The shell.
        command: String,
        /// The profile it runs under.
        profile: String,
        /// Its width.
        cols: u16,
        /// Its height.
        rows: u16,
    }
    /// The terminal has another size.
    TerminalSize {
        /// Its width.
        cols: u16,
        /// Its height.
        rows: u16,
    }
    /// The terminal's shell has ended.
    TerminalClosed {
        /// Why.
        cause: StopCause,
        /// The exit code, if it ended by itself.
        exit_code: Option<i32>,
        /// The signal, if that ended it.
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
            /// As it stands in the log.
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

            /// The number of the report that a fact was; none if the fact is
            /// about something else.
            pub fn report_number(fact: &Fact) -> Option<ReportNumber> {
                $(if let Fact::$fact { report, .. } = fact {
                    return Some(*report);
                })+
                None
            }

            /// Reads it from a fact, with what it is about; none if the fact is
            /// about something else.
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
    /// A build began.
    BuildStarted(BuildStarted) = BuildStarted { build };
    /// A build succeeded.
    BuildSucceeded(BuildSucceeded) = BuildSucceeded { build };
    /// A build did not succeed.
    BuildFailed(BuildFailed) = BuildFailed { build };
    /// A run began.
    Starting(RuntimeStarting) = RuntimeStarting { run };
    /// The dev server runs for the first time in its run.
    Started(RuntimeStarted) = RuntimeStarted { run };
    /// The dev server runs again.
    Restarted(RuntimeStarted) = RuntimeRestarted { run };
    /// The dev server was told to end.
    Stopping(RuntimeStopping) = RuntimeStopping { run };
    /// The run is over.
    Stopped(RuntimeStopped) = RuntimeStopped { run };
    /// The run ended though nobody asked.
    Crashed(RuntimeCrashed) = RuntimeCrashed { run };
    /// A port was found.
    PreviewDetected(PreviewDetection) = PreviewDetected { preview };
    /// The preview answers.
    PreviewReady(PreviewDetection) = PreviewReady { preview };
    /// The preview does not answer any more.
    PreviewLost(PreviewLost) = PreviewLost { preview };
    /// The terminal is there.
    TerminalOpened(TerminalOpened) = TerminalOpened { terminal };
    /// The terminal has another size.
    TerminalResized(TerminalSize) = TerminalResized { terminal };
    /// The terminal's shell has ended.
    TerminalClosed(TerminalClosed) = TerminalClosed { terminal };
}
