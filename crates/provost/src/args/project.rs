//! Arguments of the commands for projects and for actions without an agent.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectsCommand {
    /// Open a folder as a project.
    Open {
        /// The folder.
        path: PathBuf,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Close a project; its folder and history stay.
    Close {
        /// Its id or its short name.
        project: String,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder; the current one if left out.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Print what would be written, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write it though there is one.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoActionArgs {
    /// The action: fs.readFile, fs.writeFile, terminal.runCommand, …
    pub(crate) action: String,
    /// Its parameters.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// All parameters as one JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// The project: id or short name; that of the current folder if left out.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// The role to act in; without it you act for yourself.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// How much it may do.
    #[arg(long, value_enum, default_value = "build")]
    pub(crate) profile: ProfileArg,
    /// Print what it could reach, and do not run it.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The command.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// A profile as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProfileArg {
    /// The project can be read; no network.
    Read,
    /// The project and the tools' caches can be written; no network.
    Build,
    /// As build, and it may listen.
    Serve,
    /// Your own shell, without Provost's own data.
    Terminal,
}
