//! All actions with name, parameters and kind, in one table.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    ActionKind, ActionParams as _, ApplyPatch, BadAction, BuildRuntime, CreateDir, DeleteFile,
    EditFile, FetchPreview, ListFiles, ListProcesses, MoveFile, OpenPty, ReadFile, ReadLogs,
    ReadProcess, ReadPty, ReadRuntime, RelPath, RestartRuntime, RestoreFile, RunCommand,
    RunRuntime, SearchFiles, SignalProcess, StatPath, StopProcess, StopRuntime, WriteFile,
    WriteProcess, WritePty, parse_action_params, similar_action_name,
};

macro_rules! actions {
    ($($(#[$doc:meta])* $group:ident = $enum:ident {
        $($(#[$about:meta])* $variant:ident($params:ident) = $name:literal, $kind:ident;)+
    })+) => {
        /// One action, in canonical form.
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
            /// The names of all actions, which are also the skills that they need.
            pub const NAMES: &'static [&'static str] = &[$($($name,)+)+];

            /// The names of all actions with their kinds.
            pub const KINDS: &'static [(&'static str, ActionKind)] =
                &[$($(($name, ActionKind::$kind),)+)+];

            /// Parses an action. Unknown names and invalid parameters are errors.
            pub fn parse(name: &str, params: Value) -> Result<Self, BadAction> {
                match name {
                    $($($name => parse_action_params($name, params).map($enum::$variant).map(Self::$group),)+)+
                    unknown => Err(BadAction::UnknownAction {
                        name: unknown.to_owned(),
                        similar: similar_action_name(unknown),
                    }),
                }
            }

            /// The name, which is also the skill that it needs.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Self::$group($enum::$variant(_)) => $name,)+)+
                }
            }

            /// The complete parameters: parsing them again gives this action.
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

            /// What the action does, as text for people: `read README.md from line 10`.
            pub fn describe(&self) -> String {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params.describe(),)+)+
                }
            }

            /// The paths in the project that it names.
            pub fn paths(&self) -> Vec<RelPath> {
                match self {
                    $($(Self::$group($enum::$variant(params)) => params.paths(),)+)+
                }
            }

            /// The kind of the action.
            pub fn kind(&self) -> ActionKind {
                match self {
                    $($(Self::$group($enum::$variant(_)) => ActionKind::$kind,)+)+
                }
            }
        }
    };
}

/// Parameters are structs of strings and numbers, which always serialize.
fn params_to_value(params: &impl serde::Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

actions! {
    /// Actions on files.
    File = FileAction {
        /// Read a file, or a part of it.
        ReadFile(ReadFile) = "fs.readFile", Read;
        /// Write a whole file.
        WriteFile(WriteFile) = "fs.writeFile", Write;
        /// Replace texts in a file.
        EditFile(EditFile) = "fs.editFile", Write;
        /// Apply a unified diff to any number of files.
        ApplyPatch(ApplyPatch) = "fs.applyPatch", Write;
        /// List a folder.
        ListFiles(ListFiles) = "fs.listFiles", Read;
        /// Search for matching lines.
        SearchFiles(SearchFiles) = "fs.searchFiles", Read;
        /// Read the metadata of a file.
        Stat(StatPath) = "fs.stat", Read;
        /// Create a folder.
        CreateDir(CreateDir) = "fs.createDir", Write;
        /// Move a file or folder.
        MoveFile(MoveFile) = "fs.moveFile", Write;
        /// Delete a file or folder.
        DeleteFile(DeleteFile) = "fs.deleteFile", Write;
        /// Put back a file that was set aside.
        RestoreFile(RestoreFile) = "fs.restoreFile", Write;
    }
    /// Actions on processes.
    Process = ProcessAction {
        /// Run a command, in the foreground or in the background.
        RunCommand(RunCommand) = "terminal.runCommand", Run;
        /// List the background processes.
        List(ListProcesses) = "terminal.list", Process;
        /// Read the output of a background process.
        Read(ReadProcess) = "terminal.read", Process;
        /// Write to the stdin of a background process.
        Write(WriteProcess) = "terminal.write", Process;
        /// Send a signal to a background process.
        Signal(SignalProcess) = "terminal.signal", Process;
        /// Stop a background process with everything that it started.
        Stop(StopProcess) = "terminal.stop", Process;
    }
    /// Actions on the project's terminal, dev server and preview.
    Runtime = RuntimeAction {
        /// Open the terminal.
        OpenTerminal(OpenPty) = "pty.open", Start;
        /// Read the terminal.
        ReadTerminal(ReadPty) = "pty.read", Process;
        /// Type into the terminal.
        WriteTerminal(WritePty) = "pty.write", Process;
        /// Start the dev server.
        Run(RunRuntime) = "runtime.run", Start;
        /// Stop the dev server.
        Stop(StopRuntime) = "runtime.stop", Process;
        /// Restart the dev server.
        Restart(RestartRuntime) = "runtime.restart", Start;
        /// Build the project.
        Build(BuildRuntime) = "runtime.build", Start;
        /// Read the state of the runtime.
        Status(ReadRuntime) = "runtime.status", Process;
        /// Read the output of builds and dev servers.
        Logs(ReadLogs) = "runtime.logs", Process;
        /// Fetch a page of the preview.
        FetchPreview(FetchPreview) = "preview.fetch", Process;
    }
}
