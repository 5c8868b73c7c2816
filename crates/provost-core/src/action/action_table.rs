//! Every action with its name, its parameters and its effect, in one table.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    ActionKind, ActionParams as _, ApplyPatch, BadAction, BuildRuntime, CreateDir, DeleteFile,
    EditFile, FetchPreview, ListFiles, ListProcesses, MoveFile, OpenPty, ReadFile, ReadLogs,
    ReadProcess, ReadPty, ReadRuntime, RelPath, RestartRuntime, RunCommand, RunRuntime,
    SearchFiles, SignalProcess, StatPath, StopProcess, StopRuntime, WriteFile, WriteProcess,
    WritePty, parse_action_params, similar_action_name,
};

macro_rules! actions {
    ($($(#[$doc:meta])* $group:ident = $enum:ident {
        $($(#[$about:meta])* $variant:ident($params:ident) = $name:literal, $kind:ident;)+
    })+) => {
        /// One thing to do, in canonical form.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Action {
            $($(#[$doc])* $group($enum),)+
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub enum $enum {
                $($(#[$about])* $variant($params),)+
            }

            $(impl From<$params> for Action {
                fn from(params: $params) -> Self {
                    Self::$group($enum::$variant(params))
                }
            })+
        )+

        impl Action {
            /// Every action's name, which is also the skill it needs.
            pub const NAMES: &'static [&'static str] = &[$($($name,)+)+];

            /// Every action's name with what it does to the world.
            pub const KINDS: &'static [(&'static str, ActionKind)] =
                &[$($(($name, ActionKind::$kind),)+)+];

            /// Reads an action. What it does not know or cannot take, it refuses.
            pub fn parse(name: &str, params: Value) -> Result<Self, BadAction> {
                match name {
                    $($($name => parse_action_params($name, params).map($enum::$variant).map(Self::$group),)+)+
                    unknown => Err(BadAction::UnknownAction {
                        name: unknown.to_owned(),
                        similar: similar_action_name(unknown),
                    }),
                }
            }

            /// The name, which is also the skill it needs.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Self::$group($enum::$variant(_)) => $name,)+)+
                }
            }

            /// The parameters, complete: reading them again gives this action.
            pub fn params(&self) -> Value {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params_to_value(params),)+)+
                }
            }

            /// Writes the parameters.
            pub(super) fn write_params<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params.serialize(to),)+)+
                }
            }

            /// What will happen, in plain words: `read README.md from line 10`.
            pub fn describe(&self) -> String {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params.describe(),)+)+
                }
            }

            /// The places in the project that it names, as far as it names them.
            pub fn paths(&self) -> Vec<RelPath> {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params.paths(),)+)+
                }
            }

            /// What it does to the world.
            pub fn kind(&self) -> ActionKind {
                match self {
                    $($(Self::$group($enum::$variant(_)) => ActionKind::$kind,)+)+
                }
            }
        }
    };
}

/// Parameters are plain structs of texts and numbers, which always serialise.
fn params_to_value(params: &impl serde::Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

actions! {
    /// Something done to files.
    File = FileAction {
        /// The content of a file, or a part of it.
        ReadFile(ReadFile) = "fs.readFile", Read;
        /// A whole file.
        WriteFile(WriteFile) = "fs.writeFile", Write;
        /// Texts in a file replaced by others.
        EditFile(EditFile) = "fs.editFile", Write;
        /// A unified diff over any number of files.
        ApplyPatch(ApplyPatch) = "fs.applyPatch", Write;
        /// The names in a folder.
        ListFiles(ListFiles) = "fs.listFiles", Read;
        /// Lines that match.
        SearchFiles(SearchFiles) = "fs.searchFiles", Read;
        /// What is known about a file.
        Stat(StatPath) = "fs.stat", Read;
        /// A new folder.
        CreateDir(CreateDir) = "fs.createDir", Write;
        /// Another name for a file or folder.
        MoveFile(MoveFile) = "fs.moveFile", Write;
        /// A file or folder removed.
        DeleteFile(DeleteFile) = "fs.deleteFile", Write;
    }
    /// Something done with programs.
    Process = ProcessAction {
        /// A command, from start to end or in the background.
        RunCommand(RunCommand) = "terminal.runCommand", Run;
        /// The background processes.
        List(ListProcesses) = "terminal.list", Process;
        /// What a background process printed.
        Read(ReadProcess) = "terminal.read", Process;
        /// Input for a background process.
        Write(WriteProcess) = "terminal.write", Process;
        /// A signal to a background process.
        Signal(SignalProcess) = "terminal.signal", Process;
        /// A background process ended, with all it started.
        Stop(StopProcess) = "terminal.stop", Process;
    }
    /// Something done with the project's terminal, dev server or preview.
    Runtime = RuntimeAction {
        /// The terminal opened.
        OpenTerminal(OpenPty) = "pty.open", Start;
        /// What stands in the terminal.
        ReadTerminal(ReadPty) = "pty.read", Process;
        /// Keys for the terminal.
        WriteTerminal(WritePty) = "pty.write", Process;
        /// The project run.
        Run(RunRuntime) = "runtime.run", Start;
        /// The project stopped.
        Stop(StopRuntime) = "runtime.stop", Process;
        /// The project run anew.
        Restart(RestartRuntime) = "runtime.restart", Start;
        /// The project built.
        Build(BuildRuntime) = "runtime.build", Start;
        /// How it stands.
        Status(ReadRuntime) = "runtime.status", Process;
        /// What it printed.
        Logs(ReadLogs) = "runtime.logs", Process;
        /// A page of the preview.
        FetchPreview(FetchPreview) = "preview.fetch", Process;
    }
}
